package settings

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"airgap.dev/airgap/internal/host"
	"airgap.dev/airgap/internal/host/hosttest"
)

// fakeFirewalld answers for firewall-cmd: the entries of each view by zone, in
// the form of its options. Writing the permanent view writes a file.
type fakeFirewalld struct {
	host    *hosttest.Fake
	has     map[string]openings
	sources map[string]string // by zone
	fail    string            // a zone that cannot be changed
}

func vxlan(port int) []Port {
	return []Port{{port, port, "udp", "VXLAN", OnlyNodes, "packets between pods of different nodes"}}
}

func newFirewalld(f *hosttest.Fake) *fakeFirewalld {
	w := &fakeFirewalld{host: f, has: map[string]openings{"runtime": {}, "permanent": {}}}
	f.Answers["ip -json address"] = func(host.Cmd) ([]byte, error) {
		return []byte(`[{"ifname":"lo","addr_info":[{"local":"127.0.0.1"}]},{"ifname":"ens192","addr_info":[{"local":"10.0.0.11"}]}]`), nil
	}
	f.Answers["firewall-cmd"] = func(c host.Cmd) ([]byte, error) {
		if c.Args[0] == "--permanent" {
			return w.answer("permanent", c.Args[1:])
		}
		return w.answer("runtime", c.Args)
	}
	return w
}

func (w *fakeFirewalld) answer(view string, args []string) ([]byte, error) {
	switch args[0] {
	case "--get-default-zone":
		return []byte("public\n"), nil
	case "--list-all-zones":
		return []byte(w.list(view)), nil
	}
	zone := strings.TrimPrefix(args[0], "--zone=")
	first, _, _ := strings.Cut(args[1], "=")
	for _, arg := range args[1:] {
		if kind, _, _ := strings.Cut(arg, "="); kind != first { // as firewall-cmd 1.3 does
			return nil, &host.CommandError{Argv: args, ExitCode: 2, Tail: "argument " + kind + ": not allowed with argument " + first, Err: errors.New("exit status")}
		}
		verb, what, _ := strings.Cut(strings.TrimPrefix(arg, "--"), "-")
		if w.fail == zone {
			return nil, &host.CommandError{Argv: args, ExitCode: 253, Tail: "ALREADY", Err: errors.New("exit status")}
		}
		have := w.has[view][zone]
		if verb == "add" {
			have = append(have, what)
		} else {
			have = slices.DeleteFunc(have, func(o string) bool { return o == what })
		}
		w.has[view][zone] = have
		w.write(view, zone)
	}
	return nil, nil
}

// list is in the form of firewall-cmd 1.3.
func (w *fakeFirewalld) list(view string) string {
	var b strings.Builder
	for _, zone := range []string{"block", "public", "servers", "trusted"} {
		var rules, links []string
		sources := w.sources[zone]
		for _, o := range w.has[view][zone] {
			if source, is := strings.CutPrefix(o, "source="); is {
				sources += " " + source
				continue
			}
			if link, is := strings.CutPrefix(o, "interface="); is {
				links = append(links, link)
				continue
			}
			rules = append(rules, "\t"+strings.TrimPrefix(o, "rich-rule=")+"\n")
		}
		fmt.Fprintf(&b, "%s (active)\n  target: default\n  interfaces: %s\n  sources: %s\n  services: ssh\n  forward-ports: \n\tport=80:proto=tcp:toport=8080:toaddr=\n  rich rules: \n%s\n",
			zone, strings.Join(links, " "), sources, strings.Join(rules, ""))
	}
	return b.String()
}

func (w *fakeFirewalld) write(view, zone string) {
	if view != "permanent" {
		return
	}
	file := w.host.Root + zonesDir + "/" + zone + ".xml"
	if old, err := os.ReadFile(file); err == nil {
		hosttest.Must(os.WriteFile(file+".old", old, 0o644))
	}
	hosttest.Must(os.MkdirAll(w.host.Root+zonesDir, 0o755))
	hosttest.Must(os.WriteFile(file, []byte(zoneXML(w.has[view][zone]...)), 0o644))
}

func zoneXML(openings ...string) string {
	text := "<?xml version=\"1.0\" encoding=\"utf-8\"?>\n<zone>\n  <short>Public</short>\n"
	for _, o := range openings {
		text += fmt.Sprintf("  <opening what='%s'/>\n", o)
	}
	return text + "  <forward/>\n</zone>\n"
}

func aFirewall() Firewall {
	return Firewall{
		Address: "10.0.0.11", Ports: Listens{ControlPlane: true, Registry: 5000, Network: vxlan(8472)}.Ports(),
		Nodes: []string{"10.0.0.11", "10.0.0.12", "10.0.0.13"}, Masters: []string{"10.0.0.11", "10.0.0.13"},
		PodSubnet: "10.244.0.0/16", PodLinks: []string{"flannel.1", "cali*"},
	}
}

const (
	theirRule = `rich-rule=rule family="ipv4" source address="10.9.0.0/24" port port="9100" protocol="tcp" accept`
	apiRule   = `rich-rule=rule family="ipv4" port port="6443" protocol="tcp" accept`
)

// TestFirewalldRouted: unencapsulated packets of other hosts' pods pass, and no longer
// after a change to a tunnel.
func TestFirewalldRouted(t *testing.T) {
	f, m := hosttest.New(t)
	w := newFirewalld(f)
	f.Put(t, vendorZones+"/trusted.xml", zoneXML())
	f.Put(t, vendorZones+"/public.xml", zoneXML())
	routed := aFirewall()
	routed.Routed = true
	s := FirewalldStep(m, routed)
	hosttest.Do(t, func() error { return s.Run(t.Context()) })
	hosttest.MustBeDone(t, s.Done, true)
	if !w.has["runtime"].has("trusted", "source=10.244.0.0/16") || !w.has["permanent"].has("trusted", "source=10.244.0.0/16") {
		t.Errorf("trusted has %v", w.has)
	}
	tunnel := FirewalldStep(m, aFirewall())
	hosttest.MustBeDone(t, tunnel.Done, false)
	hosttest.Do(t, func() error { return tunnel.Run(t.Context()) })
	if w.has["runtime"].has("trusted", "source=10.244.0.0/16") {
		t.Errorf("trusted still has %v", w.has["runtime"]["trusted"])
	}
}

func TestFirewalld(t *testing.T) {
	f, m := hosttest.New(t)
	w := newFirewalld(f)
	w.has["runtime"]["public"] = []string{theirRule, apiRule} // the site has opened one of our rules, at run time
	w.has["permanent"]["public"] = []string{theirRule}
	theirs := "<!-- by hand -->\n" + zoneXML(theirRule)
	f.Put(t, zonesDir+"/public.xml", theirs)
	f.Put(t, vendorZones+"/trusted.xml", zoneXML())
	s := FirewalldStep(m, aFirewall())
	hosttest.MustBeDone(t, s.Done, false)
	if err := s.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	hosttest.MustBeDone(t, s.Done, true)

	for _, view := range []string{"runtime", "permanent"} {
		rules := strings.Join(w.has[view]["public"], "\n")
		for rule, times := range map[string]int{
			`port="6443"`: 1, `rule family="ipv4" port port="30000-32767" protocol="udp" accept`: 1,
			`source address="10.0.0.13" port port="2380" protocol="tcp"`: 1, `source address="10.0.0.12" port port="2380"`: 0,
			`source address="10.0.0.12" port port="8472" protocol="udp"`: 1, `source address="10.0.0.12" port port="5000"`: 1,
			`source address="10.0.0.11"`: 0, `port="10257"`: 0, `port="10.9.0.0/24"`: 0,
		} {
			if n := strings.Count(rules, rule); n != times {
				t.Errorf("%s: %d × %s, want %d in\n%s", view, n, rule, times, rules)
			}
		}
		refused := func(port string) string {
			return `rich-rule=rule family="ipv4" source address="10.244.0.0/16" port port="` + port + `" protocol="tcp" reject`
		}
		if has := w.has[view]["trusted"]; !slices.Equal(has, []string{"interface=flannel.1", "interface=cali+", refused("2379"), refused("2380"), refused("5000")}) {
			t.Errorf("%s: trusted has %v", view, has)
		}
	}

	w.has["runtime"]["public"] = nil // a reload by another program
	hosttest.MustBeDone(t, s.Done, false)
	if err := s.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	w.has["runtime"]["public"] = append(w.has["runtime"]["public"], theirRule)

	for range 2 { // interrupted at its end and run again
		if err := FirewalldStep(m, Firewall{}).Undo(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	for _, view := range []string{"runtime", "permanent"} {
		if have := w.has[view]; !slices.Equal(have["public"], []string{theirRule}) || len(have["trusted"]) > 0 {
			t.Errorf("after the undo %s has %v", view, have)
		}
	}
	if got := f.Get(zonesDir + "/public.xml"); got != theirs {
		t.Errorf("their file came back as\n%s", got)
	}
	for _, file := range []string{zonesDir + "/public.xml.old", zonesDir + "/trusted.xml", zonesDir + "/trusted.xml.old", firewalldUndo} {
		if f.Has(file) {
			t.Errorf("undo left %s", file)
		}
	}
}

// TestFirewalldKeepsPodsOffTheRegistry: a host that an older airgap set up gets the
// rules at the next installation.
func TestFirewalldKeepsPodsOffTheRegistry(t *testing.T) {
	f, m := hosttest.New(t)
	w := newFirewalld(f)
	s := FirewalldStep(m, aFirewall())
	hosttest.Do(t, func() error { return s.Run(t.Context()) })
	for _, view := range []string{"runtime", "permanent"} {
		w.has[view]["trusted"] = slices.DeleteFunc(w.has[view]["trusted"], func(o string) bool { return strings.HasSuffix(o, "reject") })
	}
	hosttest.MustBeDone(t, s.Done, false)
	hosttest.Do(t, func() error { return s.Run(t.Context()) })
	hosttest.MustBeDone(t, s.Done, true)
	const rule = `rich-rule=rule family="ipv4" source address="10.244.0.0/16" port port="5000" protocol="tcp" reject`
	if !w.has["runtime"].has("trusted", rule) || !w.has["permanent"].has("trusted", rule) {
		t.Errorf("trusted has %v", w.has)
	}
}

// Later changes of others stay, in firewalld's form.
func TestFirewalldUndoLeavesLaterChanges(t *testing.T) {
	f, m := hosttest.New(t)
	w := newFirewalld(f)
	f.Put(t, zonesDir+"/public.xml", zoneXML())
	if err := FirewalldStep(m, aFirewall()).Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	w.has["permanent"]["public"] = append(w.has["permanent"]["public"], theirRule)
	w.write("permanent", "public")
	if err := FirewalldStep(m, Firewall{}).Undo(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := f.Get(zonesDir + "/public.xml"); got != zoneXML(theirRule) {
		t.Errorf("their later rule is gone:\n%s", got)
	}
}

// A host that leaves the cluster loses its access.
func TestFirewalldFollowsTheNodes(t *testing.T) {
	f, m := hosttest.New(t)
	w := newFirewalld(f)
	if err := FirewalldStep(m, aFirewall()).Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	fewer := aFirewall()
	fewer.Nodes = []string{"10.0.0.11", "10.0.0.13", "10.0.0.14"}
	s := FirewalldStep(m, fewer)
	hosttest.MustBeDone(t, s.Done, false)
	if err := s.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	hosttest.MustBeDone(t, s.Done, true)
	if rules := strings.Join(w.has["permanent"]["public"], "\n"); strings.Contains(rules, "10.0.0.12") || !strings.Contains(rules, "10.0.0.14") {
		t.Errorf("rules of other nodes:\n%s", rules)
	}
}

func TestFirewalldZones(t *testing.T) {
	f, m := hosttest.New(t)
	w := newFirewalld(f)
	w.has["runtime"]["block"] = []string{"interface=ens+"}
	w.sources = map[string]string{"servers": "10.0.0.12 ipset:bad 00:11:22:33:44:55", "public": "10.7.0.0/16"}
	zones := func() ([]string, error) {
		now, err := viewRuntime().read(t.Context(), m)
		if err != nil {
			t.Fatal(err)
		}
		return firewalld{m, aFirewall()}.zones(t.Context(), now)
	}
	if got, err := zones(); err != nil || !slices.Equal(got, []string{"block", "servers"}) {
		t.Errorf("zones %v, %v", got, err)
	}
	w.sources["public"] = "10.0.0.0/8"
	_, err := zones()
	var failure *host.Failure
	if !errors.As(err, &failure) || !strings.Contains(err.Error(), "zone public claims 10.0.0.0/8") || failure.Next == "" {
		t.Errorf("a zone that catches the pods' packets: %v", err)
	}
}

func TestFirewalldPlan(t *testing.T) {
	f, m := hosttest.New(t)
	w := newFirewalld(f)
	few := Firewall{Address: "10.0.0.11", Ports: aFirewall().Ports[:1], PodLinks: []string{"cni0"}}
	w.has["permanent"] = few.wanted([]string{"public"})
	hosttest.WantPlan(t, f, FirewalldStep(m, few),
		`firewall-cmd --zone=public --add-rich-rule='rule family="ipv4" port port="6443" protocol="tcp" accept'`,
		`firewall-cmd --zone=trusted --add-interface='cni0'`)
}

// The record comes first, so that every added entry is known.
func TestFirewalldRecordsBeforeItChanges(t *testing.T) {
	f, m := hosttest.New(t)
	newFirewalld(f).fail = "trusted"
	err := FirewalldStep(m, aFirewall()).Run(t.Context())
	var failure *host.Failure
	if !errors.As(err, &failure) || !strings.Contains(failure.Next, "hostSettings.firewalld") {
		t.Errorf("got %v", err)
	}
	if text := f.Get(firewalldUndo); !strings.Contains(text, "6443") || !strings.Contains(text, "cali+") {
		t.Errorf("recorded: %s", text)
	}
}

func TestFirewalldThatDoesNotRun(t *testing.T) {
	f, m := hosttest.New(t)
	f.Fails("systemctl is-active", 3, "")
	hosttest.MustBeDone(t, FirewalldStep(m, aFirewall()).Done, true)
	if f.Ran("firewall-cmd") > 0 {
		t.Errorf("ran %v", f.Calls)
	}
}

// It ran at install and is off now: its permanent side is still taken back.
func TestFirewalldUndoWhileItIsOff(t *testing.T) {
	f, m := hosttest.New(t)
	w := newFirewalld(f)
	if err := FirewalldStep(m, aFirewall()).Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	f.Fails("systemctl is-active", 3, "")
	f.Answers["firewall-offline-cmd"] = func(c host.Cmd) ([]byte, error) { return w.answer("permanent", c.Args) }
	f.Answers["firewall-offline-cmd --version"] = func(host.Cmd) ([]byte, error) { return []byte("1.3.3\n"), nil }
	if err := FirewalldStep(m, Firewall{}).Undo(t.Context()); err != nil {
		t.Fatal(err)
	}
	if have := w.has["permanent"]; len(have["public"])+len(have["trusted"]) > 0 {
		t.Errorf("left: %v", have)
	}
}

func TestPorts(t *testing.T) {
	count := func(ports []Port) (all map[Peers]int) {
		all = map[Peers]int{}
		for _, p := range ports {
			all[p.From]++
		}
		return all
	}
	worker := count(Listens{Network: vxlan(4789)}.Ports())
	if worker[OnlyMasters] != 0 || worker[OnlyNodes] != 2 || worker[FromAnywhere] != 3 || worker[OnlySelf] != 2 {
		t.Errorf("a worker: %v", worker)
	}
	master := count(Listens{ControlPlane: true, Registry: 5000, Network: vxlan(4789)}.Ports())
	if master[OnlyMasters] != 2 || master[OnlyNodes] != 3 || master[FromAnywhere] != 4 || master[OnlySelf] != 5 {
		t.Errorf("a control-plane host: %v", master)
	}
	if p := (Port{First: 30000, Last: 32767, Protocol: "udp"}); p.String() != "30000-32767/udp" {
		t.Errorf("%s", p)
	}
}
