package preflight

import "strings"

var networkManager = Check{
	ID: "networkmanager", Title: "NetworkManager leaves pods alone", Source: "rke2: known issues; kubespray",
	Breaks: "It takes addresses and routes away from interfaces that it does not know: pods are cut off.",
	Needs:  []string{"units"}, Run: judgeNetworkManager,
}

func judgeNetworkManager(f *Facts, _ *Want) Result {
	if u := f.unit("NetworkManager.service"); !u.Active() && u.Enabled != "enabled" {
		return pass("not active")
	}
	return pass("active; install tells it to leave the pods' interfaces alone")
}

var nmCloudSetup = Check{
	ID: "nm-cloud-setup", Title: "NetworkManager's cloud setup is off", Source: "rke2: known issues",
	Breaks: "It adds rules of routing of its own, again and again: packets of pods leave by another way, or not at all.",
	Needs:  []string{"units"}, Run: judgeCloudSetup,
}

func judgeCloudSetup(f *Facts, _ *Want) Result {
	var on []string
	for _, name := range []string{"nm-cloud-setup.service", "nm-cloud-setup.timer"} {
		if u := f.unit(name); u.Active() || u.Enabled == "enabled" {
			on = append(on, name)
		}
	}
	if len(on) > 0 {
		return Result{Fail, strings.Join(on, ", ") + " is on", "off", "systemctl disable --now " + strings.Join(on, " ") + ", then reboot"}
	}
	return pass("off")
}
