package unitfile

import (
	"slices"
	"strings"
)

// shownAs are the names of systemctl show for settings with another name in a unit file.
func shownAs(key string) string {
	switch key {
	case "CPUQuota":
		return "CPUQuotaPerSecUSec"
	case "RuntimeMaxSec":
		return "RuntimeMaxUSec"
	}
	return key
}

// ShownKeys are the properties of systemctl show for RestrictionKeys.
func ShownKeys() []string {
	var keys []string
	for _, key := range RestrictionKeys() {
		keys = append(keys, shownAs(key))
	}
	return slices.Compact(keys)
}

// ShownRestrictions returns the severe restrictions among the properties that systemctl shows for a
// running service. usual are those of a service without any setting: systemctl shows a default, such as
// all capabilities, as a value. At is "" in the result.
func ShownRestrictions(shown, usual map[string]string) []Restriction {
	var all []Placed
	for _, key := range RestrictionKeys() {
		if value := shown[shownAs(key)]; value != usual[shownAs(key)] {
			all = append(all, Placed{Setting: Setting{Section: "Service", Key: key, Value: strings.TrimSpace(value)}})
		}
	}
	return slices.DeleteFunc(Restrictions(all), func(r Restriction) bool { return !r.Severe })
}
