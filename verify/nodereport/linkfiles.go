package nodereport

import (
	"io"
	"io/fs"
	"path"
	"slices"
	"strconv"
	"strings"
)

// Limits of what is read: the report stays small on every host.
const (
	maxInterfaces = 64 // below the node's address, and members of a bond
	maxDepth      = 5  // VLAN, bridge, bond, card
	maxAttribute  = 4096
	netClass      = "sys/class/net"
)

// lower has the interfaces below one.
type lower struct{ leaves, bonds []string }

// interfacesBelow follows the kernel's links from a VLAN, bridge or bond to the network cards. A link without
// others below it is the card itself.
func interfacesBelow(fsys fs.FS, link string) lower {
	var all lower
	if link != "" {
		all.add(fsys, link, 0, false)
	}
	slices.Sort(all.leaves)
	slices.Sort(all.bonds)
	return all
}

// add ignores ports of a bridge without a device: they belong to virtual machines and pods.
func (l *lower) add(fsys fs.FS, name string, depth int, isPort bool) {
	if depth > maxDepth || len(l.leaves)+len(l.bonds) >= maxInterfaces || !isLinkName(name) || slices.Contains(l.leaves, name) || slices.Contains(l.bonds, name) {
		return
	}
	has := func(file string) bool { return exists(fsys, path.Join(netClass, name, file)) }
	under := namesBelow(fsys, name)
	switch {
	case has("bonding/mode"):
		l.bonds = append(l.bonds, name)
	case len(under) == 0 && (!isPort || has("device")):
		l.leaves = append(l.leaves, name)
	}
	for _, u := range under {
		l.add(fsys, u, depth+1, has("bridge"))
	}
}

func namesBelow(fsys fs.FS, name string) []string {
	entries, _ := fs.ReadDir(fsys, path.Join(netClass, name))
	var names []string
	for _, e := range entries {
		if below, is := strings.CutPrefix(e.Name(), "lower_"); is && len(names) < maxInterfaces {
			names = append(names, below)
		}
	}
	return names
}

func exists(fsys fs.FS, name string) bool {
	_, err := fs.Stat(fsys, name)
	return err == nil
}

// counterKey differs if an interface with the same name was created again: its counters start at 0.
func counterKey(fsys fs.FS, name string) string {
	return name + " " + attribute(fsys, path.Join(netClass, name, "ifindex"))
}

// maxSpeed is more than any card has. Some drivers report an unknown speed as 65535 or 4294967295.
const maxSpeed = 10_000_000

func readInterface(fsys fs.FS, name string) Interface {
	at := path.Join(netClass, name)
	i := Interface{Name: name}
	if speed := number(attribute(fsys, at+"/speed")); speed > 0 && speed <= maxSpeed && speed != 65535 {
		i.Speed = int(speed)
	}
	if d := attribute(fsys, at+"/duplex"); d == "full" || d == "half" {
		i.Duplex = d
	}
	switch attribute(fsys, at+"/carrier") {
	case "1":
		i.Carrier = "up"
	case "0":
		i.Carrier = "down"
	}
	return i
}

func readCounters(fsys fs.FS, name string) LinkCounters {
	at := path.Join(netClass, name)
	count := func(file string) int64 { return number(attribute(fsys, at+"/statistics/"+file)) }
	return LinkCounters{
		Received: count("rx_packets"), Sent: count("tx_packets"),
		CRC: count("rx_crc_errors"), Frame: count("rx_frame_errors"), ReceiveErrors: count("rx_errors"),
		// Drivers count a lack of buffers in one of them, or in both.
		ReceiveMissed: max(count("rx_missed_errors"), count("rx_fifo_errors")), ReceiveDropped: count("rx_dropped"),
		SendErrors: count("tx_errors"), SendDropped: count("tx_dropped"),
		CarrierChanges: number(attribute(fsys, at+"/carrier_changes")),
	}
}

// attribute reads a file of one line. It returns "" if the file is missing, too long or has other characters than
// the kernel writes.
func attribute(fsys fs.FS, name string) string {
	text := bounded(fsys, name, maxAttribute)
	text = strings.TrimSuffix(text, "\n")
	if strings.ContainsFunc(text, func(r rune) bool { return r < ' ' || r > '~' }) {
		return ""
	}
	return strings.TrimSpace(text)
}

// bounded reads a file; "" if it cannot be read or is longer than most.
func bounded(fsys fs.FS, name string, most int64) string {
	f, err := fsys.Open(name)
	if err != nil {
		return ""
	}
	defer func() { _ = f.Close() }()
	text, err := io.ReadAll(io.LimitReader(f, most+1))
	if err != nil || int64(len(text)) > most {
		return ""
	}
	return string(text)
}

// number returns -1 for text that is not a count.
func number(text string) int64 {
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n < 0 {
		return -1
	}
	return n
}
