package facts

import (
	"context"
	"fmt"
	"net/netip"
	"path"
	"regexp"
	"slices"
	"strings"

	"airgap.dev/airgap/internal/host"
)

// DHCP is a network configuration on disk that requests an IPv4 address from DHCP.
type DHCP struct {
	SourceLine `yaml:",inline"`
	// Link is the interface; "": any.
	Link string `yaml:"link,omitempty" json:"link,omitempty"`
	// Static are the addresses that the same file sets.
	Static []string `yaml:"static,omitempty" json:"static,omitempty"`
}

// StaticLink has the addresses that a network configuration on disk sets, without DHCP.
type StaticLink struct {
	File      string   `yaml:"file" json:"file"`
	Link      string   `yaml:"link,omitempty" json:"link,omitempty"` // "": any
	Addresses []string `yaml:"addresses,flow" json:"addresses"`
}

// Directories of NetworkManager's connections, and of the files of network-scripts, which
// NetworkManager reads up to EL 9.
const (
	ConnectionsDir = "etc/NetworkManager/system-connections"
	IfcfgDir       = "etc/sysconfig/network-scripts"
)

func connectionDirs() []string {
	return []string{ConnectionsDir, "run/NetworkManager/system-connections", "usr/lib/NetworkManager/system-connections"}
}

// networkLine matches the lines that readDHCP uses. The other lines may have passwords.
var networkLine = regexp.MustCompile(`^\s*(\[|interface-name\s*=|method\s*=|address(es)?\d*\s*=|DEVICE=|BOOTPROTO=|IPADDR\d*=)`)

func readDHCP(_ context.Context, r reader, f *Facts) error {
	connections, err := r.sourceFiles(isConnection, connectionDirs()...)
	if err != nil {
		return err
	}
	scripts, err := r.sourceFiles(isIfcfg, IfcfgDir)
	if err != nil {
		return err
	}
	for _, file := range slices.Concat(connections, scripts) {
		lines, err := r.sourceLines(file, networkLine.MatchString)
		if err != nil {
			return err
		}
		switch d := parseDHCP(path.Base(file), lines); {
		case d.Line > 0:
			f.DHCP = append(f.DHCP, d)
		case len(d.Static) > 0:
			f.Static = append(f.Static, StaticLink{"/" + file, d.Link, d.Static})
		}
	}
	return nil
}

// isConnection leaves out the files that NetworkManager ignores: hidden ones and copies of editors.
func isConnection(name string) bool {
	return !strings.HasPrefix(name, ".") && !strings.HasSuffix(name, "~") && !slices.Contains([]string{".bak", ".rpmsave", ".rpmorig", ".rpmnew", ".swp"}, path.Ext(name))
}

func isIfcfg(name string) bool {
	return strings.HasPrefix(name, "ifcfg-") && name != "ifcfg-lo" && isConnection(name)
}

// parseDHCP returns no line if the file does not request an address.
func parseDHCP(name string, lines []SourceLine) DHCP {
	var d DHCP
	section, isScript := "", strings.HasPrefix(name, "ifcfg-")
	if isScript {
		d.Link = strings.TrimPrefix(name, "ifcfg-") // unless DEVICE says another
	}
	for _, l := range lines {
		if strings.HasPrefix(l.Text, "[") {
			section = strings.Trim(l.Text, "[] \t")
			continue
		}
		key, value, _ := strings.Cut(l.Text, "=")
		key, value = strings.TrimSpace(key), strings.Trim(strings.TrimSpace(value), `"'`)
		switch {
		case isScript && key == "DEVICE", section == "connection" && key == "interface-name":
			d.Link = value
		case isScript && key == "BOOTPROTO" && slices.Contains([]string{"dhcp", "bootp"}, strings.ToLower(value)),
			section == "ipv4" && key == "method" && value == "auto":
			d.SourceLine = l
		case isScript && strings.HasPrefix(key, "IPADDR"), section == "ipv4" && strings.HasPrefix(key, "address"):
			d.Static = append(d.Static, parseStatic(value)...)
		}
	}
	return d
}

// parseStatic reads "10.0.0.11/24,10.0.0.1", "10.0.0.11/24;10.0.0.12/24;" and "10.0.0.11". The address of
// the gateway after a comma is not one of the host.
func parseStatic(value string) []string {
	var all []string
	for one := range strings.SplitSeq(value, ";") {
		one, _, _ = strings.Cut(one, ",")
		one, _, _ = strings.Cut(strings.TrimSpace(one), "/")
		if a, err := netip.ParseAddr(one); err == nil {
			all = append(all, a.String())
		}
	}
	return all
}

// FromDHCP returns why the address of an interface may be another one after a reboot; "": nothing says so. A
// connection without an interface counts only if the kernel knows that the address expires.
func (f *Facts) FromDHCP(l Link, address netip.Addr) string {
	expires := slices.Contains(l.Dynamic, address)
	for _, d := range f.DHCP {
		if (d.Link == l.Name || d.Link == "" && expires) && !slices.Contains(d.Static, address.String()) {
			return fmt.Sprintf("%s on %s is from DHCP: %s", address, l.Name, d.SourceLine)
		}
	}
	if expires {
		return fmt.Sprintf("%s on %s expires: ip address shows it as dynamic", address, l.Name)
	}
	return byHand(f, l, address)
}

// byHand returns why an address that was added by hand is lost at a reboot: a file sets other addresses
// of the interface, and no file has this one.
func byHand(f *Facts, l Link, address netip.Addr) (lost string) {
	for _, s := range f.Static {
		if slices.Contains(s.Addresses, address.String()) {
			return ""
		}
		if s.Link == l.Name && lost == "" {
			lost = fmt.Sprintf("%s on %s is in no file, so a reboot removes it: %s sets %s", address, l.Name, s.File, strings.Join(s.Addresses, ", "))
		}
	}
	for _, d := range f.DHCP {
		if slices.Contains(d.Static, address.String()) {
			return ""
		}
	}
	return lost
}

// AddressOf returns the interface of this host with an address, and why the address may be another one after a reboot.
func AddressOf(ctx context.Context, h host.Host, address string) (link, dhcp string, err error) {
	f := &Facts{}
	r := reader{host: h, fs: h.FS()}
	if err := readLinks(ctx, r, f); err != nil {
		return "", "", err
	}
	_ = readDHCP(ctx, r, f) // without the files, the kernel's answer remains
	for _, l := range f.Links {
		for _, a := range l.Addresses {
			if a.Addr().String() == address {
				return l.Name, f.FromDHCP(l, a.Addr()), nil
			}
		}
	}
	return "", "", nil
}

// NameServers reads the name servers of a resolv.conf.
func NameServers(text string) []string { return parseResolv(text).Nameservers }
