package preflight

import (
	"strconv"
	"strings"

	"airgap.dev/airgap/preflight/facts"
	"airgap.dev/airgap/preflight/unitfile"
)

var umask = Check{
	ID: "umask", Title: "umask lets pods read their files", Source: "kubernetes#96342",
	Breaks: "Only root can read the files that the kubelet and the runtime create for pods. Pods with other users fail.",
	Needs:  []string{"umask", "unitFiles"}, Run: judgeUmask,
}

// judgeUmask ignores the mask of logins, because airgap sets its own. The kubelet gets systemd's
// mask. The units of the runtimes set a mask, but a drop-in can override it.
func judgeUmask(f *facts.Facts, w *Want) Result {
	var found, files []string
	for _, unit := range []string{"kubelet", w.runtimeUnit()} {
		mask := unitfile.Last(f.SettingsOf(unit), "UMask")
		if bits, err := strconv.ParseUint(mask.Value, 8, 16); err == nil && bits&0o055 != 0 {
			found = append(found, "UMask="+mask.Value+" for "+unit+", in "+mask.At())
			files = append(files, "/etc/systemd/system/"+unit+".service.d/99-umask.conf")
		}
	}
	switch {
	case len(found) > 0:
		return Result{Warn, strings.Join(found, "; "), "0022 for the kubelet and the runtime",
			"write [Service] and UMask=0022 to " + strings.Join(files, " and ") + ", then run systemctl daemon-reload"}
	case f.Umask.Login != "" && f.Umask.Login != "022":
		return pass("%s at login; install and the services use 022", f.Umask.Login)
	}
	return pass("022")
}
