package preflight

import "strings"

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
