"""The tokens of one call, by kind."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Usage:
    """Cache reads and writes stand beside `input`, as the provider reports them."""

    input: int
    write_5m: int = 0
    write_1h: int = 0
    read: int = 0
    output: int = 0

    @property
    def write(self) -> int:
        return self.write_5m + self.write_1h

    @property
    def prompt(self) -> int:
        return self.input + self.write_5m + self.write_1h + self.read

    def with_output(self, tokens: int) -> "Usage":
        return Usage(self.input, self.write_5m, self.write_1h, self.read, tokens)

    def wire(self, service_tier: str = "standard") -> dict[str, object]:
        """The `usage` object of a message."""
        return {
            "input_tokens": self.input,
            "cache_creation_input_tokens": self.write,
            "cache_read_input_tokens": self.read,
            "cache_creation": {
                "ephemeral_5m_input_tokens": self.write_5m,
                "ephemeral_1h_input_tokens": self.write_1h,
            },
            "output_tokens": self.output,
            "service_tier": service_tier,
        }
