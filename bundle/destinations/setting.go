package destinations

import (
	"fmt"
	"net/url"
	"strings"

	"airgap.dev/airgap/bundle/fetch"
	"airgap.dev/airgap/internal/reference"
)

// settingOf names the setting that replaces the host of a request by a mirror. It is the setting of the
// host that was asked first: a mirror of a registry replaces its token service and its storage, too.
func settingOf(a fetch.Asked) string {
	rewrite := func(host string) string { return "sources.rewrite with from: " + host }
	if image, is := strings.CutPrefix(a.Purpose, "image "); is {
		if named, err := reference.Parse(image); err == nil {
			return rewrite(named.Host)
		}
	}
	first := a.URL
	if a.From != nil {
		first = a.From
	}
	if name, is := strings.CutPrefix(a.Purpose, "packages of repository "); is {
		return fmt.Sprintf("packages.repositories, entry %s; or %s", name, rewrite(first.Host))
	}
	if strings.HasPrefix(a.Purpose, "chart ") {
		return "addons[].chart.repository; or " + rewrite(first.Host)
	}
	return rewrite(first.Host)
}

// mirrorAt names the rule that leads to a host; "" without one.
func mirrorAt(s fetch.Sources, host string, port int) string {
	for i, r := range s.Rewrite {
		u, err := url.Parse("https://" + r.To)
		if err != nil {
			continue
		}
		if r.Plain {
			u.Scheme = "http"
		}
		if strings.EqualFold(u.Hostname(), host) && portOf(u) == port {
			return fmt.Sprintf("sources.rewrite[%d].to: it is the mirror of %s", i, r.From)
		}
	}
	return ""
}

// isToken reports whether a request is for the token of a registry: it is for an image, follows no
// redirect, and has no path of the registry's API.
func isToken(a fetch.Asked) bool {
	return a.From == nil && strings.HasPrefix(a.Purpose, "image ") && !strings.HasPrefix(a.URL.Path, "/v2/")
}
