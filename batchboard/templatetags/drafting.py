"""Long texts of prompts and answers for a page."""

from django import template

from batchboard import definition_form

register = template.Library()
LONGEST = 20_000


@register.filter
def shortened(text: object) -> str:
    """The beginning of a long text, with … where it was cut."""
    whole = str(text)
    return whole[:LONGEST] + ("\n…" if len(whole) > LONGEST else "")


@register.filter
def get(mapping: dict[str, object], name: str) -> object:
    return mapping.get(name, "")


@register.filter
def get_label(labels: dict[str, str], name: str) -> str:
    """The label of an editor's field by the name that it has in the form."""
    return labels.get(name.removeprefix("d-"), name)


@register.filter
def megabytes(size: int) -> str:
    """A file's size: 812 bytes, 41 kB, 20.4 MB."""
    if size < 1_000:
        return f"{size} bytes"
    if size < 1_000_000:
        return f"{size / 1_000:.0f} kB"
    return f"{size / 1_000_000:.1f} MB"


@register.filter
def tokens(number: int) -> str:
    """Tokens as people say them: 812, 120k, 6.60M."""
    if number < 10_000:
        return f"{number:,}"
    return f"{number / 1_000:,.0f}k" if number < 1_000_000 else f"{number / 1_000_000:,.2f}M"


@register.filter
def contract_advice(text: object) -> str:
    """What of an output contract the provider does not enforce, in a sentence."""
    return definition_form.contract_advice(str(text))
