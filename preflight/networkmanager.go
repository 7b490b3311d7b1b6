package preflight

import (
	"strings"

	"airgap.dev/airgap/internal/nevra"
)

var networkManager = Check{
	ID: "networkmanager", Title: "NetworkManager ignores the pods' interfaces", Source: "rke2: known issues; kubespray",
	Breaks: "NetworkManager removes addresses and routes from interfaces that it does not know: pods lose their network.",
	Needs:  []string{"units"}, Run: judgeNetworkManager,
}

func judgeNetworkManager(f *Facts, _ *Want) Result {
	if u := f.unit("NetworkManager.service"); !u.Active() && u.Enabled != "enabled" {
		return pass("not active")
	}
	return pass("active; install configures it to ignore the pods' interfaces")
}

var nmCloudSetup = Check{
	ID: "nm-cloud-setup", Title: "nm-cloud-setup leaves the pods' routes alone", Source: "rke2#1053, rke2#8935: fixed in NetworkManager 1.32",
	Breaks: "nm-cloud-setup periodically adds its own routing rules: packets from pods take another route, or are lost.",
	Needs:  []string{"units"}, Run: judgeCloudSetup,
}

func judgeCloudSetup(f *Facts, _ *Want) Result {
	var on []string
	for _, name := range []string{"nm-cloud-setup.service", "nm-cloud-setup.timer"} {
		if u := f.unit(name); u.Active() || u.Enabled == "enabled" {
			on = append(on, name)
		}
	}
	if version := f.networkManagerVersion(); len(on) > 0 && version != "" {
		return pass("%s is on, and NetworkManager %s keeps the pods' routes", strings.Join(on, ", "), version)
	}
	if len(on) > 0 {
		return Result{Fail, strings.Join(on, ", ") + " is on", "off", "run systemctl disable --now " + strings.Join(on, " ") + ", then reboot; or update NetworkManager to 1.32 or later"}
	}
	return pass("off")
}

// networkManagerVersion is the version of the installed NetworkManager if nm-cloud-setup of that
// version keeps addresses and routes of others; else "".
func (f *Facts) networkManagerVersion() string {
	fixed := nevra.EVR{Version: "1.32"}
	p := f.installed("NetworkManager")
	if p == nil {
		return ""
	}
	if n, err := p.NEVRA(); err != nil || (nevra.EVR{Version: n.Version}).Compare(fixed) < 0 {
		return ""
	}
	return p.Version
}
