"""A file of items becomes rows: CSV, TSV, JSONL (one object on a line) or the first XLSX sheet.

CSV, TSV and JSONL are read as a stream: memory does not grow with the file, apart from a digest
of each key. The caller reads every row before it commits anything, in one transaction.
"""

from batchboard.ingest.error import IngestError
from batchboard.ingest.reader import MAX_ROWS, Row, read_rows

__all__ = ["MAX_ROWS", "IngestError", "Row", "read_rows"]
