package preflight

// Judges reports whether a check is chosen and applies to w's roles. The caller gathers the
// facts of a check only then.
func (c Choice) Judges(id string, w *Want) bool {
	check, err := Lookup(id)
	if err != nil || check.in(c.Skip) || c.Only != nil && !check.in(c.Only) {
		return false
	}
	return check.Role == "" || w.HasRole(check.Role)
}
