package join

import (
	"strconv"

	"airgap.dev/airgap/cluster/site"
)

// RequireFlags are for airgap on another host.
func RequireFlags(required []string) []string {
	var flags []string
	for _, value := range required {
		if n, is, err := site.Count(value); is && err == nil {
			flags = append(flags, "--require-keys", strconv.Itoa(n))
			continue
		}
		flags = append(flags, "--require-key", value)
	}
	return flags
}
