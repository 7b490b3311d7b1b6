package nodereport

import "strings"

// States of dnf's plugin versionlock in which it locks nothing.
const (
	PluginMissing = "not installed"
	PluginOff     = "off"
)

// Fix is how to restore the locks on a host. The same install adds lines only if the plugin reads them.
func (p Packages) Fix() string {
	const again = "run the same airgap install or airgap join again"
	switch p.Plugin {
	case PluginMissing:
		return "install dnf's plugin versionlock, without which no lock holds: dnf install python3-dnf-plugin-versionlock (from the site's mirror, or with packages.install in airgap.yaml and a new bundle); then " + again
	case PluginOff:
		return "set enabled = 1, and locklist if it is missing, in /etc/dnf/plugins/versionlock.conf; then " + again
	}
	return again
}

// Saw is the state of the locks.
func (p Packages) Saw() string {
	if p.Plugin != "" {
		return ": dnf's plugin versionlock is " + p.Plugin + ", and the next dnf update may change it"
	}
	return ": the next dnf update may change it"
}

// Fix is how to restore a kernel parameter, or the service that sets the parameters at boot.
func (s Setting) Fix() string {
	if unit, is := strings.CutSuffix(s.Key, ".service"); is {
		return "systemctl unmask " + unit + "; systemctl restart " + unit
	}
	return "find the line that sets it, also with a glob: grep -rs " + s.Key[strings.LastIndex(s.Key, ".")+1:] +
		" /etc/sysctl.conf /etc/sysctl.d /run/sysctl.d /usr/local/lib/sysctl.d /usr/lib/sysctl.d /etc/tuned /usr/lib/tuned; then sysctl --system"
}

// Fix is how to give a service its rights back.
func (u Unit) Fix() string {
	stem := strings.TrimSuffix(u.Name, ".service")
	return "systemctl cat " + u.Name + " shows the file that sets it: remove the line there, or write [Service] and the setting with an empty value to /etc/systemd/system/" +
		u.Name + ".d/zz-node.conf; then systemctl daemon-reload; systemctl restart " + stem
}
