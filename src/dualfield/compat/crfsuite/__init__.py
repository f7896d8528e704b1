"""The common part of the drop-ins for CRFsuite's Python packages: its weights, its parameters, its data."""
