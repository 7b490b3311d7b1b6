package facts

import (
	"context"
	"strings"
)

// Unit is a systemd unit that exists on the host.
type Unit struct {
	Name    string `yaml:"name" json:"name"`
	State   string `yaml:"state" json:"state"`     // ActiveState
	Enabled string `yaml:"enabled" json:"enabled"` // UnitFileState
}

// Active reports whether the unit runs or is starting.
func (u Unit) Active() bool {
	return u.State == "active" || u.State == "activating" || u.State == "reloading"
}

// Later reports whether the unit does not run now, and the next boot starts it.
// A mask in /run is lost at the boot.
func (u Unit) Later() bool {
	return !u.Active() && (u.Enabled == "enabled" || u.Enabled == "masked-runtime")
}

// surveyedUnits are units of hardening, virus scanners, the network, container runtimes and clusters.
func surveyedUnits() []string {
	return append(append(Scanners(), RuleServices()...), "audit-rules.service", "firewalld.service", "fapolicyd.service", "NetworkManager.service", "systemd-resolved.service",
		"nm-cloud-setup.service", "nm-cloud-setup.timer", "chronyd.service", "auditd.service", "multipathd.service", "iscsid.service", "iscsid.socket",
		"usbguard.service", "aidecheck.timer", "aide.timer", "dailyaidecheck.timer", "mlocate-updatedb.timer", "plocate-updatedb.timer", "updatedb.timer",
		"systemd-sysctl.service", "systemd-modules-load.service",
		"containerd.service", "docker.service", "crio.service", "cri-docker.service", "podman.service",
		"kubelet.service", "etcd.service", "k3s.service", "k3s-agent.service",
		"rke2-server.service", "rke2-agent.service", "k0scontroller.service", "k0sworker.service",
		"microk8s.daemon-kubelite.service")
}

func readUnits(ctx context.Context, r reader, f *Facts) error {
	out, err := r.output(ctx, "systemctl", append([]string{"show", "--property=Id,LoadState,ActiveState,UnitFileState"}, surveyedUnits()...)...)
	if err != nil {
		return err
	}
	f.Units = parseUnits(out)
	return nil
}

// parseUnits reads KEY=VALUE lines with an empty line between units. A unit
// that does not exist has LoadState=not-found.
func parseUnits(text string) []Unit {
	var units []Unit
	for block := range strings.SplitSeq(text, "\n\n") {
		values := map[string]string{}
		for line := range strings.Lines(block) {
			key, value, _ := strings.Cut(strings.TrimSpace(line), "=")
			values[key] = value
		}
		if values["Id"] != "" && values["LoadState"] != "not-found" {
			units = append(units, Unit{values["Id"], values["ActiveState"], values["UnitFileState"]})
		}
	}
	return units
}

// Unit returns the unit; the zero Unit if it does not exist.
func (f *Facts) Unit(name string) Unit {
	for _, u := range f.Units {
		if u.Name == name {
			return u
		}
	}
	return Unit{}
}

// Scanners lists the systemd units of on-access virus scanners. They scan each file when a
// process opens it, and block that process meanwhile: ClamAV, Trend Micro, Kaspersky,
// Microsoft, Trellix (McAfee) and Sophos. scanAgents has more names.
func Scanners() []string {
	return []string{"clamav-clamonacc.service", "ds_agent.service", "kesl.service", "mdatp.service", "mfetpd.service", "sophos-spl.service"}
}
