package hostlinks

import (
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"airgap.dev/airgap/verify/nodereport"
	"airgap.dev/airgap/verify/result"
)

type (
	links    = nodereport.HostLinks
	card     = nodereport.Interface
	counters = nodereport.LinkCounters
	bond     = nodereport.Bond
	member   = nodereport.BondMember
	tracking = nodereport.Conntrack
	tracked  = nodereport.ConntrackCounters
)

func judge(l links) []result.Finding { return Judge("w1", nodereport.Report{HostLinks: &l}) }

// busy has the counters of a healthy host: 100 million packets in five minutes, with few errors.
func busy() counters {
	return counters{
		Received: 1e8, Sent: 1e8, CRC: 9, ReceiveErrors: 9 + 99, ReceiveMissed: 50_000, ReceiveDropped: 60_000_000, SendErrors: 99, SendDropped: 50_000, CarrierChanges: 1,
	}
}

// on returns a card with these counters in both intervals.
func on(change func(*counters)) links {
	c := busy()
	change(&c)
	return links{Interfaces: []card{{Name: "eth0", Speed: 25000, Duplex: "full", Carrier: "up", Grown: []counters{c, c}}}}
}

func pair(mode, active string, speeds ...int) links {
	return links{
		Interfaces: []card{{Name: "eth0", Speed: speeds[0], Duplex: "full", Carrier: "up"}, {Name: "eth1", Speed: speeds[1], Duplex: "full", Carrier: "up"}},
		Bonds:      []bond{{Name: "bond0", Mode: mode, Active: active, Members: []member{{Name: "eth0", Up: true}, {Name: "eth1", Up: true}}}},
	}
}

func table(count int64, grown ...tracked) links {
	return links{Conntrack: &tracking{Count: count, Max: 100_000, Grown: grown}}
}

func TestHealthy(t *testing.T) {
	oneInterval := on(func(c *counters) { c.CRC = 1e6 })
	oneInterval.Interfaces[0].Grown[0] = busy()
	for name, l := range map[string]links{
		"nothing to report": {},
		"a busy card":       on(func(*counters) {}),
		"a quiet card": on(func(c *counters) {
			*c = counters{Received: 20, CRC: 9, ReceiveErrors: 99, ReceiveMissed: 99, SendErrors: 99, CarrierChanges: 1}
		}),
		"few errors among many packets": on(func(c *counters) { c.CRC = 99; c.ReceiveErrors += 90_000 }),
		"packets of other protocols":    on(func(c *counters) { c.ReceiveDropped = 1e8 }),
		"one bad interval":              oneInterval,
		"a card just started":           {Interfaces: []card{{Name: "eth0", Grown: nil}}},
		"a virtual card":                {Interfaces: []card{{Name: "eth0"}}},
		"speed unknown, duplex half":    {Interfaces: []card{{Name: "eth0", Duplex: "half"}}},
		"a bond":                        pair("802.3ad", "", 25000, 25000),
		"a bond of virtual cards":       pair("802.3ad", "", 0, 25000),
		"a slower backup":               pair("active-backup", "eth0", 25000, 1000),
		"a bond with one member":        {Bonds: []bond{{Name: "bond0", Members: []member{{Name: "eth0", Up: true}}}}},
		"a table that fills":            table(80_000),
		"a table without a limit":       {Conntrack: &tracking{Count: 1e6}},
		"scans and late packets":        table(10, tracked{Received: 1e6, Invalid: 9999, InsertFailed: 1e5, Drop: 5000}, tracked{Received: 1e6, Invalid: 9999, InsertFailed: 1e5, Drop: 5000}),
		"few INVALID on a quiet host":   table(10, tracked{Received: 3000, Invalid: 2999}, tracked{Received: 3000, Invalid: 2999}),
		"INVALID in one interval":       table(10, tracked{Received: 1e6, Invalid: 1e5}, tracked{Received: 1e6}),
		"packets were not counted":      table(10, tracked{Invalid: 1e5}, tracked{Invalid: 1e5}),
	} {
		require.Empty(t, judge(l), name)
	}
}

func TestInterfaces(t *testing.T) {
	const last = " in the last two intervals of 5 minutes"
	for name, test := range map[string]struct {
		links links
		saw   string
		fix   []string
	}{
		"half duplex": {links{Interfaces: []card{{Name: "eth0", Speed: 1000, Duplex: "half"}}}, "1000 Mbit/s, half duplex", []string{"on w1: ethtool eth0", "network team"}},
		"a bad cable": {on(func(c *counters) { c.CRC, c.ReceiveErrors = 200, 200 }), "received frames that are damaged (CRC, alignment): 200 (less than 0.01 %) and 200 (less than 0.01 %)" + last,
			[]string{"network team", "cable"}},
		"a bad cable without traffic": {on(func(c *counters) { *c = counters{Received: 100, Frame: 10} }),
			"received frames that are damaged (CRC, alignment): 10 (10.00 %) and 10 (10.00 %)" + last, []string{"network team"}},
		"other errors": {on(func(c *counters) { c.ReceiveErrors += 500_000 }), "received frames with other errors: 450099 (0.45 %) and 450099 (0.45 %)" + last, []string{"MTU"}},
		"a slow host":  {on(func(c *counters) { c.ReceiveMissed = 200_000 }), "frames dropped because the receive ring was full: 200000 (0.20 %) and 200000 (0.20 %)" + last, []string{"hosts team"}},
		"not sent":     {on(func(c *counters) { c.SendErrors = 200_000 }), "packets that could not be sent: 250000 (0.25 %) and 250000 (0.25 %)" + last, []string{"network team"}},
		"a loose cable": {on(func(c *counters) { c.CarrierChanges = 4 }), "the carrier is lost and comes back, changes: 4 and 4" + last,
			[]string{"journalctl -k | grep eth0", "network team"}},
	} {
		t.Run(name, func(t *testing.T) { wantOne(t, judge(test.links), "Node w1, eth0", test.saw, test.fix...) })
	}
}

func wantOne(t *testing.T, found []result.Finding, object, saw string, fix ...string) {
	t.Helper()
	require.Len(t, found, 1)
	require.Equal(t, object, found[0].Object)
	require.Equal(t, saw, found[0].Saw)
	require.NotEmpty(t, found[0].Want)
	require.True(t, strings.HasPrefix(found[0].Fix, "on w1: "), found[0].Fix)
	for _, part := range fix {
		require.Contains(t, found[0].Fix, part)
	}
}

func TestBonds(t *testing.T) {
	change := func(l links, f func(b *bond)) links {
		f(&l.Bonds[0])
		return l
	}
	full := pair("802.3ad", "", 25000, 25000)
	const next = "1 of 2 members work, so the next failure stops the network of the node"
	for name, test := range map[string]struct {
		links links
		saw   string
		fix   []string
	}{
		"a member is down": {
			change(pair("802.3ad", "", 25000, 0), func(b *bond) { b.Members[1].Up = false }), "member eth1 is down: " + next, []string{"/proc/net/bonding/bond0", "network team", "cable"}},
		"no LACP": {
			change(pair("802.3ad", "", 25000, 25000), func(b *bond) { b.Members[1].NoLACP = true }), "the switch has not put member eth1 into the port channel (LACP): " + next,
			[]string{"network team", "port channel"}},
		"a card is gone": {
			change(full, func(b *bond) { b.Members, b.Missing = b.Members[:1], []string{"eth1"} }), "eth1 is configured as a member, but is not one: " + next, []string{"nmcli device connect eth1"}},
		"three members": {
			change(pair("802.3ad", "", 25000, 25000), func(b *bond) { b.Members = append(b.Members, member{Name: "eth2"}) }), "member eth2 is down: 2 of 3 members work", []string{"network team"}},
		"a slow member":                    {pair("802.3ad", "", 25000, 1000), "member eth1 has 1000 Mbit/s, eth0 has 25000 Mbit/s", []string{"ethtool eth1", "network team"}},
		"the backup is in use, and slower": {pair("active-backup", "eth1", 25000, 1000), "member eth1 has 1000 Mbit/s, eth0 has 25000 Mbit/s", []string{"network team"}},
	} {
		t.Run(name, func(t *testing.T) { wantOne(t, judge(test.links), "Node w1, bond0", test.saw, test.fix...) })
	}
}

func TestConntrack(t *testing.T) {
	const last = " in the last two intervals of 5 minutes"
	late := tracked{Received: 1e6, Invalid: 20_000}
	for name, test := range map[string]struct {
		links links
		saw   string
		fix   []string
	}{
		"nearly full": {table(80_600), "81 % full: 80600 of 100000 connections", []string{"conntrack -L", "conntrack.maxPerCore"}},
		"a full table": {table(70_000, tracked{EarlyDrop: 7}, tracked{Drop: 2}),
			"the table was full" + last + ": 7 connections removed for new ones, 2 packets dropped; now 70000 of 100000 connections", []string{"conntrack -L"}},
		"full, nothing left": {table(99_000, tracked{Drop: 40}, tracked{Drop: 2}),
			"the table was full" + last + ": 0 connections removed for new ones, 42 packets dropped; now 99000 of 100000 connections", []string{"conntrack -L"}},
		"another path back": {table(10, late, late),
			"packets that belong to no connection (INVALID): 20000 (2.00 %) and 20000 (2.00 %)" + last, []string{"network team", "stateful firewall", "idle timeout"}},
	} {
		t.Run(name, func(t *testing.T) {
			wantOne(t, judge(test.links), "Node w1, connection tracking", test.saw, test.fix...)
		})
	}
}

// TestHostileReport: a node can write any numbers and lists into its own report.
func TestHostileReport(t *testing.T) {
	worst := counters{
		Received: math.MaxInt64, Sent: math.MinInt64, CRC: math.MaxInt64, Frame: math.MaxInt64, ReceiveErrors: math.MinInt64, ReceiveMissed: math.MaxInt64,
		ReceiveDropped: -1, SendErrors: math.MaxInt64, SendDropped: math.MaxInt64, CarrierChanges: math.MaxInt64,
	}
	most := tracked{Received: math.MaxInt64, Invalid: math.MaxInt64, InsertFailed: math.MaxInt64, Drop: math.MaxInt64, EarlyDrop: math.MaxInt64}
	least := tracked{Received: -1, Invalid: -1, InsertFailed: -1, Drop: -1, EarlyDrop: -1}
	l := links{Conntrack: &tracking{Count: math.MaxInt64, Max: -1, Grown: make([]tracked, 1000)}}
	for i := range l.Conntrack.Grown {
		l.Conntrack.Grown[i] = most
	}
	all := bond{Name: "bond0"}
	for range 100_000 {
		l.Interfaces = append(l.Interfaces, card{Name: "eth0", Speed: math.MinInt, Duplex: "half", Grown: []counters{worst, worst}})
		all.Members, all.Missing = append(all.Members, member{Name: "eth0"}), append(all.Missing, "eth0")
	}
	for range 100 {
		l.Bonds = append(l.Bonds, all)
	}
	require.LessOrEqual(t, len(judge(l)), maxFindings)
	require.Empty(t, judge(links{Conntrack: &tracking{Count: -1, Max: -1, Grown: []tracked{least, least}}}))
}

// TestHostileNames: the names in a report are in commands, and a node can write any text.
func TestHostileNames(t *testing.T) {
	half := func(name string) card { return card{Name: name, Speed: 1000, Duplex: "half"} }
	for _, name := range []string{"", "eth0; reboot", "eth0\nreboot", "$(reboot)", "eth0|sh", "-S", "eth0 ", "été0", strings.Repeat("e", 16)} {
		require.Empty(t, judge(links{
			Interfaces: []card{half(name)},
			Bonds: []bond{
				{Name: name, Members: []member{{Name: "eth0"}}},
				{Name: "bond0", Members: []member{{Name: name}}, Missing: []string{name}},
			},
		}), "%q", name)
	}
	for _, name := range []string{"eth0", "enp5s0f0np0", "bond0.100", "tun-0", "veth_1@if2", strings.Repeat("e", 15)} {
		require.Len(t, judge(links{Interfaces: []card{half(name)}}), 1, name)
	}
	long := strings.Repeat("e", 1_200_000)
	l := links{}
	for range 100 {
		b := bond{Name: "bond0", Members: []member{{Name: long}}, Missing: []string{long}}
		for range 100 {
			b.Members, b.Missing = append(b.Members, member{Name: "eth0"}), append(b.Missing, "eth1")
		}
		l.Bonds, l.Interfaces = append(l.Bonds, bond{Name: long}, b), append(l.Interfaces, half(long), half("eth0"))
	}
	size := 0
	for _, f := range judge(l) {
		size += len(f.Object + f.Saw + f.Want + f.Fix)
	}
	require.Positive(t, size)
	require.Less(t, size, 200_000)
}
