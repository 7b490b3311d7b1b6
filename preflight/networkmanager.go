package preflight

import "strings"

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
	ID: "nm-cloud-setup", Title: "nm-cloud-setup is off", Source: "rke2: known issues",
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
	if len(on) > 0 {
		return Result{Fail, strings.Join(on, ", ") + " is on", "off", "run systemctl disable --now " + strings.Join(on, " ") + ", then reboot"}
	}
	return pass("off")
}
