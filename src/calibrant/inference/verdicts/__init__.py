"""What tests say: of each aspect, of groups of rows, of models side by side, and how far."""
