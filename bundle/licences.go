package bundle

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"airgap.dev/airgap/internal/ui"
)

const (
	licenceLabel = "org.opencontainers.image.licenses"
	maxLicence   = 200 // bytes; a label can have a whole licence
)

// licenceOf is the licence that the configurations of an image state; "" if they state
// none.
func licenceOf(configs map[string][]byte) string {
	for _, digest := range slices.Sorted(maps.Keys(configs)) {
		var config struct {
			Config struct{ Labels map[string]string }
		}
		if json.Unmarshal(configs[digest], &config) == nil && config.Config.Labels[licenceLabel] != "" {
			return shortLicence(config.Config.Labels[licenceLabel])
		}
	}
	return ""
}

// shortLicence makes a text from upstream one line.
func shortLicence(text string) string {
	line := strings.Join(strings.Fields(ui.Escape(text)), " ")
	if len(line) > maxLicence {
		return strings.ToValidUTF8(line[:maxLicence], "") + "…"
	}
	return line
}
