package verification

import (
	"os"
	"os/user"

	"k8s.io/client-go/rest"

	"airgap.dev/airgap/internal/host"
	"airgap.dev/airgap/internal/version"
	"airgap.dev/airgap/verify/result"
)

// aboutRun returns the metadata of a run; the version of Kubernetes is added later.
func aboutRun(api *rest.Config) result.About {
	about := result.About{Program: version.String(), By: CurrentUser()}
	if server, _, err := rest.DefaultServerUrlFor(api); err == nil {
		about.Server = server.Host
	}
	return about
}

// CurrentUser is USER on HOST, as far as the host knows.
func CurrentUser() string {
	by, on := "", ""
	if u, err := user.Current(); err == nil {
		by = u.Username
	}
	if operator := host.Operator(); operator != "" && operator != by {
		by = operator + " as " + by
	}
	if name, err := os.Hostname(); err == nil {
		on = " on " + name
	}
	return by + on
}
