package nodereport

import (
	"io/fs"
	"path"
	"slices"
	"strings"
)

func bonds(fsys fs.FS, names []string) []Bond {
	var all []Bond
	for _, name := range names {
		all = append(all, readBond(fsys, name))
	}
	return all
}

// readBond reads sysfs, which has the values of /proc/net/bonding one by one. The kernel shows the partner of LACP in
// /proc only to programs with CAP_NET_ADMIN, which the unit does not have.
func readBond(fsys fs.FS, name string) Bond {
	at := path.Join(netClass, name, "bonding")
	mode, _, _ := strings.Cut(attribute(fsys, at+"/mode"), " ") // "802.3ad 4"
	b := Bond{Name: name, Mode: mode, Active: attribute(fsys, at+"/active_slave")}
	names := slices.DeleteFunc(strings.Fields(attribute(fsys, at+"/slaves")), func(n string) bool { return !isLinkName(n) })
	slices.Sort(names)
	for _, member := range names[:min(len(names), maxInterfaces)] {
		b.Members = append(b.Members, readMember(fsys, member, mode))
	}
	for _, configured := range configuredMembers(fsys, name) {
		if !slices.Contains(names, configured) {
			b.Missing = append(b.Missing, configured)
		}
	}
	return b
}

// lacpSynchronized is the bit of a port's LACP state that says that it is in the right port channel (IEEE 802.1AX).
const lacpSynchronized = 8

// readMember counts a member as up during the delays of a bond ("going down", "going back").
func readMember(fsys fs.FS, name, mode string) BondMember {
	at := path.Join(netClass, name)
	m := BondMember{Name: name}
	m.Up = attribute(fsys, at+"/bonding_slave/mii_status") != "down" && attribute(fsys, at+"/carrier") != "0"
	partner := number(attribute(fsys, at+"/bonding_slave/ad_partner_oper_port_state"))
	m.NoLACP = m.Up && mode == "802.3ad" && partner >= 0 && partner&lacpSynchronized == 0
	return m
}

// Directories of NetworkManager's connections and of the files of network-scripts.
const (
	connectionDir = "etc/NetworkManager/system-connections"
	scriptDir     = "etc/sysconfig/network-scripts"
	maxFiles      = 200 // in a directory
	maxFile       = 64 << 10
)

// profile is a file that configures one interface.
type profile struct{ link, controller, uuid, isType string }

// configuredMembers returns the interfaces that a file adds to the bond at every boot, by name. A file may name the
// bond or the UUID of the bond's own file.
func configuredMembers(fsys fs.FS, bond string) []string {
	all := append(profiles(fsys, connectionDir, isConnection, parseConnection), profiles(fsys, scriptDir, isScript, parseScript)...)
	names := []string{bond}
	for _, p := range all {
		if p.link == bond && p.isType == "bond" && p.uuid != "" {
			names = append(names, p.uuid)
		}
	}
	var members []string
	for _, p := range all {
		if p.link != bond && slices.Contains(names, p.controller) {
			members = append(members, p.link)
		}
	}
	slices.Sort(members)
	members = slices.Compact(members)
	return members[:min(len(members), maxInterfaces)]
}

func profiles(fsys fs.FS, dir string, is func(name string) bool, parse func(string) profile) []profile {
	entries, _ := fs.ReadDir(fsys, dir)
	var all []profile
	for _, e := range entries[:min(len(entries), maxFiles)] {
		if !is(e.Name()) {
			continue
		}
		if p := parse(bounded(fsys, path.Join(dir, e.Name()), maxFile)); isLinkName(p.link) {
			all = append(all, p)
		}
	}
	return all
}

// isLinkName reports whether the kernel accepts a name for an interface.
func isLinkName(name string) bool {
	return name != "" && len(name) <= 15 && !strings.ContainsFunc(name, func(r rune) bool { return r <= ' ' || r > '~' || r == '/' })
}

func isConnection(name string) bool {
	return strings.HasSuffix(name, ".nmconnection") && !strings.HasPrefix(name, ".")
}

func isScript(name string) bool {
	return strings.HasPrefix(name, "ifcfg-") && !strings.HasSuffix(name, "~") && !slices.Contains([]string{".bak", ".orig", ".rpmsave", ".rpmorig", ".rpmnew", ".swp"}, path.Ext(name))
}

// parseConnection reads a file of NetworkManager. A connection that does not start at boot adds no member.
func parseConnection(text string) (p profile) {
	section, off := "", false
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if strings.HasPrefix(line, "[") {
			section = strings.Trim(line, "[]")
			continue
		}
		key, value, _ := strings.Cut(line, "=")
		if value = strings.TrimSpace(value); section != "connection" {
			continue
		}
		switch strings.TrimSpace(key) {
		case "interface-name":
			p.link = value
		case "controller", "master":
			p.controller = value
		case "uuid":
			p.uuid = value
		case "type":
			p.isType = value
		case "autoconnect":
			off = slices.Contains([]string{"false", "no", "0"}, value)
		}
	}
	if off {
		return profile{}
	}
	return p
}

// parseScript reads a file of network-scripts.
func parseScript(text string) (p profile) {
	off := false
	for line := range strings.Lines(text) {
		key, value, _ := strings.Cut(strings.TrimSpace(line), "=")
		value = strings.Trim(value, `"'`)
		switch key {
		case "DEVICE":
			p.link = value
		case "MASTER", "MASTER_UUID":
			p.controller = value
		case "UUID":
			p.uuid = value
		case "TYPE":
			p.isType = strings.ToLower(value)
		case "ONBOOT":
			off = value == "no"
		}
	}
	if off {
		return profile{}
	}
	return p
}
