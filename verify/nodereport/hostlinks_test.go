package nodereport

import (
	"fmt"
	"maps"
	"math"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/stretchr/testify/require"
)

// kernelFiles returns the files of a host: names below /sys/class/net unless they begin with a slash.
func kernelFiles(all ...map[string]string) fstest.MapFS {
	files := fstest.MapFS{}
	for _, some := range all {
		for name, text := range some {
			at, isPath := strings.CutPrefix(name, "/")
			if !isPath {
				at = netClass + "/" + name
			}
			files[at] = &fstest.MapFile{Data: []byte(text)}
		}
	}
	return files
}

// cardFiles are the files of a network card.
func cardFiles(name string, changes ...string) map[string]string {
	files := map[string]string{"ifindex": "2\n", "device/vendor": "0x8086\n", "speed": "25000\n", "duplex": "full\n", "carrier": "1\n", "carrier_changes": "2\n"}
	for _, counter := range []string{"rx_packets", "tx_packets", "rx_crc_errors", "rx_frame_errors", "rx_errors", "rx_missed_errors", "rx_fifo_errors", "rx_dropped", "tx_errors", "tx_dropped"} {
		files["statistics/"+counter] = "0\n"
	}
	for i := 0; i < len(changes); i += 2 {
		files[changes[i]] = changes[i+1]
	}
	named := map[string]string{}
	for file, text := range files {
		named[name+"/"+file] = text
	}
	return named
}

func bondFiles(mode, members string) map[string]string {
	files := map[string]string{"bond0/ifindex": "5\n", "bond0/bonding/mode": mode + "\n", "bond0/bonding/slaves": members + "\n", "bond0/bonding/active_slave": "\n"}
	for member := range strings.FieldsSeq(members) {
		files["bond0/lower_"+member] = ""
	}
	return files
}

const mii, lacp = "bonding_slave/mii_status", "bonding_slave/ad_partner_oper_port_state"

func TestInterfacesBelow(t *testing.T) {
	card := Interface{Name: "eth0", Speed: 25000, Duplex: "full", Carrier: "up"}
	tests := map[string]struct {
		link  string
		files []map[string]string
		want  HostLinks
	}{
		"a card":                        {"eth0", []map[string]string{cardFiles("eth0")}, HostLinks{Interfaces: []Interface{card}}},
		"no interface with the address": {"", []map[string]string{cardFiles("eth0")}, HostLinks{}},
		"a virtual card": {"eth0", []map[string]string{cardFiles("eth0", "speed", "-1\n", "duplex", "unknown\n")}, HostLinks{
			Interfaces: []Interface{{Name: "eth0", Carrier: "up"}}}},
		"an older kernel, speed unknown": {"eth0", []map[string]string{cardFiles("eth0", "speed", "4294967295\n", "duplex", "Unknown!\n")}, HostLinks{
			Interfaces: []Interface{{Name: "eth0", Carrier: "up"}}}},
		"a host that is a container": {"host0", []map[string]string{{"host0/ifindex": "3\n", "host0/carrier": "1\n"}}, HostLinks{Interfaces: []Interface{{Name: "host0", Carrier: "up"}}}},
		"a bridge with virtual machines": {
			"br0", []map[string]string{cardFiles("eth0"), {"br0/bridge/x": "", "br0/lower_eth0": "", "br0/lower_vnet0": "", "vnet0/ifindex": "9\n"}}, HostLinks{Interfaces: []Interface{card}}},
		"a VLAN on a bond": {"bond0.7", []map[string]string{
			{"bond0.7/lower_bond0": ""},
			bondFiles("802.3ad 4", "eth1 eth0"), cardFiles("eth0", mii, "up\n", lacp, "61\n"), cardFiles("eth1", mii, "down\n", "carrier", "0\n", lacp, "1\n")},
			HostLinks{
				Interfaces: []Interface{card, {"eth1", 25000, "full", "down", nil}},
				Bonds:      []Bond{{Name: "bond0", Mode: "802.3ad", Members: []BondMember{{"eth0", true, false}, {"eth1", false, false}}}},
			}},
		"no LACP": {"bond0", []map[string]string{bondFiles("802.3ad 4", "eth0"), cardFiles("eth0", mii, "up\n", lacp, "1\n")},
			HostLinks{Interfaces: []Interface{card}, Bonds: []Bond{{Name: "bond0", Mode: "802.3ad", Members: []BondMember{{"eth0", true, true}}}}}},
		"LACP state of another mode": {"bond0", []map[string]string{bondFiles("active-backup 1", "eth0"), cardFiles("eth0", mii, "going back\n", lacp, "1\n"),
			{"bond0/bonding/active_slave": "eth0\n"}},
			HostLinks{Interfaces: []Interface{card}, Bonds: []Bond{{Name: "bond0", Mode: "active-backup", Active: "eth0", Members: []BondMember{{"eth0", true, false}}}}}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			var history LinkHistory
			require.Equal(t, &test.want, history.Read(kernelFiles(test.files...), test.link, time.Now()))
		})
	}
}

// TestConfiguredMembers: members come from files that apply at boot, with the bond's name or the UUID of its file.
func TestConfiguredMembers(t *testing.T) {
	const bond = "[connection]\nid=bond0\nuuid=1111\ntype=bond\ninterface-name=bond0\n[bond]\nmode=802.3ad\n"
	member := func(lines ...string) string {
		return "[connection]\nid=x\ntype=ethernet\n" + strings.Join(lines, "\n") + "\n\n[ethernet]\ninterface-name=ignored\n"
	}
	at := func(name, text string) map[string]string {
		return map[string]string{"/" + connectionDir + "/" + name: text}
	}
	script := func(name, text string) map[string]string {
		return map[string]string{"/" + scriptDir + "/" + name: text}
	}
	tests := map[string]struct {
		files []map[string]string
		want  []string
	}{
		"no files":                  {nil, nil},
		"all are members":           {[]map[string]string{at("a.nmconnection", member("interface-name=eth0", "master=bond0", "slave-type=bond"))}, nil},
		"by name":                   {[]map[string]string{at("a.nmconnection", member("interface-name=eth1", "master=bond0", "slave-type=bond"))}, []string{"eth1"}},
		"by UUID, new words":        {[]map[string]string{at("b.nmconnection", bond), at("a.nmconnection", member("interface-name = eth1", "controller = 1111", "port-type=bond"))}, []string{"eth1"}},
		"of another bond":           {[]map[string]string{at("a.nmconnection", member("interface-name=eth1", "master=bond1"))}, nil},
		"not at boot":               {[]map[string]string{at("a.nmconnection", member("interface-name=eth1", "master=bond0", "autoconnect=false"))}, nil},
		"by MAC address":            {[]map[string]string{at("a.nmconnection", member("master=bond0"))}, nil},
		"a copy":                    {[]map[string]string{at("a.nmconnection~", member("interface-name=eth1", "master=bond0"))}, nil},
		"not a name":                {[]map[string]string{at("a.nmconnection", member("interface-name=eth1 \x1b[2J", "master=bond0"))}, nil},
		"a large file":              {[]map[string]string{at("a.nmconnection", member("interface-name=eth1", "master=bond0")+strings.Repeat("#", maxFile))}, nil},
		"two files of one":          {[]map[string]string{at("a.nmconnection", member("interface-name=eth1", "master=bond0")), script("ifcfg-eth1", "DEVICE=eth1\nMASTER=bond0\n")}, []string{"eth1"}},
		"network-scripts":           {[]map[string]string{script("ifcfg-eth1", "DEVICE=\"eth1\"\nMASTER='bond0'\nSLAVE=yes\nONBOOT=yes\n")}, []string{"eth1"}},
		"network-scripts, off":      {[]map[string]string{script("ifcfg-eth1", "DEVICE=eth1\nMASTER=bond0\nONBOOT=no\n")}, nil},
		"network-scripts, a backup": {[]map[string]string{script("ifcfg-eth1.bak", "DEVICE=eth1\nMASTER=bond0\n")}, nil},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			files := kernelFiles(append(test.files, bondFiles("802.3ad 4", "eth0"), cardFiles("eth0"))...)
			require.Equal(t, test.want, readBond(files, "bond0").Missing)
		})
	}
}

// TestGrowth: counters are compared over two intervals, and not after a restart of what counts.
func TestGrowth(t *testing.T) {
	began := time.Now()
	crc := func(count string, more ...string) map[string]string {
		return cardFiles("eth0", append([]string{"statistics/rx_crc_errors", count, "statistics/rx_packets", "7"}, more...)...)
	}
	type look struct {
		after time.Duration
		files map[string]string
	}
	const i = LinkInterval
	grown := func(counts ...int64) (all []LinkCounters) {
		for _, n := range counts {
			all = append(all, LinkCounters{CRC: n})
		}
		return all
	}
	for name, test := range map[string]struct {
		looks []look
		want  []LinkCounters
	}{
		"one interval":             {[]look{{0, crc("5")}, {i, crc("9")}}, nil},
		"two":                      {[]look{{0, crc("5")}, {i, crc("9")}, {2 * i, crc("19")}}, grown(4, 10)},
		"looks in between":         {[]look{{0, crc("5")}, {i / 2, crc("6")}, {i, crc("9")}, {2*i + time.Second, crc("19")}, {2*i + time.Minute, crc("99")}}, grown(4, 10)},
		"the last two":             {[]look{{0, crc("5")}, {i, crc("9")}, {2 * i, crc("19")}, {3 * i, crc("19")}}, grown(10, 0)},
		"the driver starts again":  {[]look{{0, crc("5")}, {i, crc("9")}, {2 * i, crc("3")}}, nil},
		"another interface":        {[]look{{0, crc("5")}, {i, crc("9")}, {2 * i, crc("500", "ifindex", "3")}}, nil},
		"unreadable in between":    {[]look{{0, crc("5")}, {i, crc("x")}, {2 * i, crc("500")}}, grown(0, 0)},
		"the host was suspended":   {[]look{{0, crc("5")}, {i, crc("9")}, {3 * i, crc("500")}}, nil},
		"the clock was set back":   {[]look{{0, crc("5")}, {i, crc("9")}, {-i, crc("500")}}, nil},
		"the largest number":       {[]look{{0, crc("0")}, {i, crc(fmt.Sprint(math.MaxInt64))}, {2 * i, crc(fmt.Sprint(math.MaxInt64))}}, grown(math.MaxInt64, 0)},
		"more than that, negative": {[]look{{0, crc("0")}, {i, crc("9223372036854775808")}, {2 * i, crc("-5")}}, grown(0, 0)},
	} {
		t.Run(name, func(t *testing.T) {
			var history LinkHistory
			var found *HostLinks
			for _, l := range test.looks {
				found = history.Read(kernelFiles(l.files), "eth0", began.Add(l.after))
			}
			require.Equal(t, test.want, found.Interfaces[0].Grown)
		})
	}
}

const statHead = "entries  clashres found new invalid ignore delete chainlength insert insert_failed drop early_drop icmp_error\n"

func trackingFiles(count, stat, received string) map[string]string {
	return map[string]string{
		"/proc/sys/net/netfilter/nf_conntrack_count": count, "/proc/sys/net/netfilter/nf_conntrack_max": "262144\n", "/proc/net/stat/nf_conntrack": stat,
		"/proc/net/snmp": "Ip: Forwarding InReceives InHdrErrors\nIp: 1 " + received + " 0\nIcmp: InMsgs\nIcmp: 7\n",
	}
}

func TestConntrackSums(t *testing.T) {
	cpu := func(invalid, failed, drop, early int) string {
		return fmt.Sprintf("000000ff 00000000 00000000 00000000 %08x 00000000 00000000 00000000 00000000 %08x %08x %08x 00000000\n", invalid, failed, drop, early)
	}
	before := statHead + cpu(1, 2, 3, 4) + cpu(1, 1, 1, 1)
	var history LinkHistory
	began := time.Now()
	for n, stat := range []string{before, statHead + cpu(17, 2, 3, 4) + cpu(2, 3, 4, 5), statHead + cpu(17, 2, 3, 4) + cpu(0xffff, 3, 4, 5)} {
		found := history.Read(kernelFiles(trackingFiles("1000\n", stat, fmt.Sprint(n*100))), "", began.Add(time.Duration(n)*LinkInterval))
		require.Equal(t, int64(1000), found.Conntrack.Count)
		require.Equal(t, int64(262144), found.Conntrack.Max)
		if n == 2 {
			require.Equal(t, []ConntrackCounters{{100, 17, 2, 3, 4}, {100, 0xffff - 2, 0, 0, 0}}, found.Conntrack.Grown)
		}
	}
	require.Nil(t, readConntrack(kernelFiles()), "the module is not loaded")
}

// TestHostileFiles: what the kernel does not write is unknown, and the report stays small.
func TestHostileFiles(t *testing.T) {
	many := statHead + strings.Repeat("ffffffff ", 13) + "\n"
	for name, stat := range map[string]string{
		"empty": "", "only names": statHead, "binary": "\x00\xff\x1b[2J\n\x00", "too few numbers": statHead + "00000001\n", "negative": statHead + strings.Repeat("-0000001 ", 13) + "\n",
		"large numbers": statHead + strings.Repeat("fffffffff ", 13) + "\n", "huge": many + strings.Repeat(many[len(statHead):], 10_000), "no such column": "a b\n1 2\n",
	} {
		require.Equal(t, int64(-1), readConntrackCounters(kernelFiles(trackingFiles("1", stat, "5"))).Invalid, name)
	}
	for _, received := range []string{"", "-1", "x", "99999999999999999999"} {
		require.Equal(t, int64(-1), readConntrackCounters(kernelFiles(trackingFiles("1", many, received))).Received, received)
	}
	for _, count := range []string{"-1", "x", "", strings.Repeat("1", maxAttribute+1)} {
		require.Nil(t, readConntrack(kernelFiles(trackingFiles(count, many, "5"))), count)
	}
	var members []string
	files := kernelFiles(cardFiles("eth0", "speed", "1\x00\n", "duplex", "half\x1b[2J", "carrier", strings.Repeat("1", maxAttribute+1), "lower_eth1", ""), map[string]string{"eth1/lower_eth0": ""})
	for i := range 300 {
		members = append(members, fmt.Sprint("m", i))
	}
	maps.Copy(files, kernelFiles(bondFiles("x", strings.Join(members, " ")), map[string]string{"eth1/lower_bond0": "", "bond0/lower_bond0": ""}))
	var history LinkHistory
	found := history.Read(files, "eth0", time.Now())
	require.LessOrEqual(t, len(found.Interfaces), maxInterfaces)
	require.Len(t, found.Bonds, 1)
	require.LessOrEqual(t, len(found.Bonds[0].Members), maxInterfaces)
	require.Equal(t, Interface{Name: "eth0"}, readInterface(files, "eth0"))
	require.Equal(t, HostLinks{}, *history.Read(files, "../../etc", time.Now()))
}

// TestLinksWritten: counters are written with the heartbeat, and the state of a bond at once.
func TestLinksWritten(t *testing.T) {
	now := time.Now()
	w := &Writer{now: func() time.Time { return now }, written: &Report{HostLinks: fullLinks()}, last: now}
	changed := func(change func(*HostLinks)) bool {
		l := fullLinks()
		change(l)
		return w.due(Report{HostLinks: l})
	}
	require.False(t, changed(func(*HostLinks) {}))
	require.False(t, changed(func(l *HostLinks) {
		l.Interfaces[0].Grown[0].Received, l.Conntrack.Count, l.Conntrack.Grown[0].Invalid = 99, 99, 99
	}))
	require.True(t, changed(func(l *HostLinks) { l.Bonds[0].Members[0].Up = false }))
	require.True(t, changed(func(l *HostLinks) { l.Interfaces[0].Duplex = "half" }))
	require.True(t, w.due(Report{}))
}
