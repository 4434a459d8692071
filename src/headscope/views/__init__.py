"""Pictures of maps and figures: payloads, and pages that hold everything they need."""
