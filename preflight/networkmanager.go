package preflight

import (
	"strings"

	"airgap.dev/airgap/preflight/facts"
)

var networkManager = Check{
	ID: "networkmanager", Title: "NetworkManager ignores the pods' interfaces", Source: "rke2: known issues; kubespray",
	Breaks: "NetworkManager removes addresses and routes from interfaces that it does not know: pods lose their network.",
	Needs:  []string{"units"}, Run: judgeNetworkManager,
}

func judgeNetworkManager(f *facts.Facts, _ *Want) Result {
	if u := f.Unit("NetworkManager.service"); !u.Active() && u.Enabled != "enabled" {
		return pass("not active")
	}
	return pass("active; install configures it to ignore the pods' interfaces")
}

var nmCloudSetup = Check{
	ID: "nm-cloud-setup", Title: "nm-cloud-setup leaves the pods' routes alone", Source: "rke2#1053, rke2#8935: fixed in NetworkManager 1.32",
	Breaks: "nm-cloud-setup periodically adds its own routing rules: packets from pods take another route, or are lost.",
	Needs:  []string{"units", "packages"}, Run: judgeCloudSetup,
}

func judgeCloudSetup(f *facts.Facts, _ *Want) Result {
	var on []string
	for _, name := range []string{"nm-cloud-setup.service", "nm-cloud-setup.timer"} {
		if u := f.Unit(name); u.Active() || u.Enabled == "enabled" {
			on = append(on, name)
		}
	}
	if version := f.NetworkManagerVersion(); len(on) > 0 && version != "" {
		return pass("%s is on, and NetworkManager %s keeps the pods' routes", strings.Join(on, ", "), version)
	}
	if len(on) > 0 {
		return Result{Fail, strings.Join(on, ", ") + " is on", "off", "run systemctl disable --now " + strings.Join(on, " ") + ", then reboot; or update NetworkManager to 1.32 or later"}
	}
	return pass("off")
}
