"""What the drop-ins for CRFsuite's Python packages share: its weights, its parameters, its data."""
