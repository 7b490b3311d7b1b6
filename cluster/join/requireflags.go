package join

// RequireFlags are for airgap on another host.
func RequireFlags(required []string) []string {
	var flags []string
	for _, fingerprint := range required {
		flags = append(flags, "--require-key", fingerprint)
	}
	return flags
}
