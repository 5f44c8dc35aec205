// There is no code: Cargo wants a target.
