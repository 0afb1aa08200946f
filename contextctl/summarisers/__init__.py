"""Who makes the summaries of summarise-span: recorded, planned or live."""
