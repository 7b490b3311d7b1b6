package facts

import (
	"maps"
	"net/netip"
	"reflect"
	"strings"
	"testing"

	"airgap.dev/airgap/internal/nextboot"
	"airgap.dev/airgap/preflight/replay"
)

func TestParseOSRelease(t *testing.T) {
	tests := map[string]OS{
		"": {},
		"ID=\"rhel\"\nVERSION_ID='8.10'\nPRETTY_NAME=\"A \\\"B\\\" \\$C\"\n": {ID: "rhel", Version: "8.10", Name: `A "B" $C`, IDLike: []string{}},
		"# ID=no\n ID=ol\nVERSION_ID=9\nID_LIKE=fedora":                      {ID: "ol", Version: "9", IDLike: []string{"fedora"}},
	}
	for text, want := range tests {
		got := parseOSRelease(text)
		if got.ID != want.ID || got.Version != want.Version || got.Name != want.Name || len(got.IDLike) != len(want.IDLike) {
			t.Errorf("parseOSRelease(%q) = %+v, want %+v", text, got, want)
		}
	}
	for os, want := range map[[2]string]string{{"rhel", "10.0"}: "el10", {"centos", "9"}: "el9", {"fedora", "42"}: "", {"rocky", ""}: ""} {
		if got := (OS{ID: os[0], Version: os[1]}).Enterprise(); got != want {
			t.Errorf("%+v is %q, want %q", os, got, want)
		}
	}
}

func TestCountCPUs(t *testing.T) {
	for list, want := range map[string]int{"0": 1, "0-3": 4, "0-3,6": 5, "0,2-3,8-11": 7} {
		if got, err := countCPUs(list); err != nil || got != want {
			t.Errorf("countCPUs(%q) = %d, %v, want %d", list, got, err, want)
		}
	}
	for _, list := range []string{"", "a", "3-1", "0-99999999999", "-1", "1,,2"} {
		if got, err := countCPUs(list); err == nil {
			t.Errorf("countCPUs(%q) = %d and no error", list, got)
		}
	}
}

func TestParseMount(t *testing.T) {
	m, err := parseMount(`36 35 98:0 /mnt1 /mnt\040two rw,noatime master:1 shared:2 - ext3 /dev/root\134x rw`)
	want := mount{device: "98:0", point: "/mnt two", options: []string{"rw", "noatime"}, fsType: "ext3", source: `/dev/root\x`}
	if err != nil || !reflect.DeepEqual(m, want) {
		t.Errorf("parseMount = %+v, %v, want %+v", m, err, want)
	}
	if _, err := parseMount("36 35 98:0 /mnt1 rw"); err == nil {
		t.Error("a cut line gave no error")
	}
}

func TestMountOf(t *testing.T) {
	mounts := []mount{{point: "/", device: "1"}, {point: "/var", device: "2"}, {point: "/var/lib/kubelet", device: "3"}, {point: "/var", device: "4"}}
	for path, want := range map[string]string{"/opt": "1", "/variable": "1", "/var": "4", "/var/lib": "4", "/var/lib/kubelet/pods": "3"} {
		if m, ok := mountOf(mounts, path); !ok || m.device != want {
			t.Errorf("%s lies on %+v, want device %s", path, m, want)
		}
	}
}

func TestCgroupMode(t *testing.T) {
	v1, v2 := mount{point: "/sys/fs/cgroup/cpu", fsType: "cgroup"}, mount{point: "/sys/fs/cgroup", fsType: "cgroup2"}
	unified := mount{point: "/sys/fs/cgroup/unified", fsType: "cgroup2"}
	for want, mounts := range map[string][]mount{"v2": {v2}, "v1": {v1}, "hybrid": {v1, unified}, "": {{point: "/", fsType: "xfs"}}} {
		if got := cgroupMode(mounts); got != want {
			t.Errorf("cgroupMode(%+v) = %q, want %q", mounts, got, want)
		}
	}
}

func TestParseSocketAddress(t *testing.T) {
	tests := map[string]string{
		"0100007F:1F90":                         "127.0.0.1:8080",
		"00000000:192B":                         "0.0.0.0:6443",
		"00000000000000000000000000000000:01BB": "[::]:443",
		"00000000000000000000000001000000:0277": "[::1]:631",
		"0000000000000000FFFF00000B00140A:2710": "10.20.0.11:10000", // IPv4 through an IPv6 socket
		"B80D01200000000000000000020000FE:0016": "[2001:db8::fe00:2]:22",
	}
	for text, want := range tests {
		address, port, err := parseSocketAddress(text)
		if got := netip.AddrPortFrom(address, uint16(port)).String(); err != nil || got != want {
			t.Errorf("parseSocketAddress(%q) = %s, %v, want %s", text, got, err, want)
		}
	}
	for _, text := range []string{"", ":", "0100007F", "0100007F:GG", "01:0050", "0100007F:FFFFF"} {
		if _, _, err := parseSocketAddress(text); err == nil {
			t.Errorf("parseSocketAddress(%q) gave no error", text)
		}
	}
}

func TestParseDestination(t *testing.T) {
	tests := []struct {
		text string
		v6   bool
		want string
	}{{"default", false, "0.0.0.0/0"}, {"default", true, "::/0"}, {"10.1.0.0/16", false, "10.1.0.0/16"}, {"10.1.2.3", false, "10.1.2.3/32"}, {"fd00::1", true, "fd00::1/128"}}
	for _, test := range tests {
		if got, err := parseDestination(test.text, test.v6); err != nil || got.String() != test.want {
			t.Errorf("parseDestination(%q) = %s, %v, want %s", test.text, got, err, test.want)
		}
	}
	if _, err := parseDestination("unreachable", false); err == nil {
		t.Error("a word gave no error")
	}
}

func TestParseLinks(t *testing.T) {
	links, err := parseLinks(`[{},{"ifname":"eth0","mtu":1400,"flags":["UP"],"address":"02:00:00:00:00:01","addr_info":[{},{"local":"192.0.2.7","prefixlen":24},{"local":"fe80::1","prefixlen":64}]}]`)
	if err != nil || len(links) != 2 {
		t.Fatalf("parseLinks = %+v, %v", links, err)
	}
	want := Link{"eth0", 1400, "02:00:00:00:00:01", true, []netip.Prefix{netip.MustParsePrefix("192.0.2.7/24"), netip.MustParsePrefix("fe80::1/64")}, nil, ""}
	if !reflect.DeepEqual(links[1], want) {
		t.Errorf("parseLinks gave %+v, want %+v", links[1], want)
	}
}

func TestParseResolvAndHosts(t *testing.T) {
	resolv := parseResolv("; old\ndomain a.example\nsearch b.example c.example\nnameserver 10.0.0.1\nnameserver\noptions timeout:1\n")
	if !reflect.DeepEqual(resolv, Resolv{Nameservers: []string{"10.0.0.1"}, Search: []string{"b.example", "c.example"}}) {
		t.Errorf("parseResolv = %+v", resolv)
	}
	hosts := parseHosts("#10.0.0.9 no\n10.0.0.1\ta b # c\n10.0.0.2\n")
	if !reflect.DeepEqual(hosts, []HostsEntry{{"10.0.0.1", []string{"a", "b"}}}) {
		t.Errorf("parseHosts = %+v", hosts)
	}
}

func TestModuleNames(t *testing.T) {
	names := nextboot.ModuleNames([]string{"kernel/net/netfilter/nf_tables.ko", "kernel/drivers/net/vxlan/vxlan.ko.xz: kernel/net/ipv4/udp_tunnel.ko.xz",
		"br_netfilter 32768 0 - Live", "kernel/net/netfilter/nf-conntrack.ko.zst:"})
	for _, want := range []string{"nf_tables", "vxlan", "br_netfilter", "nf_conntrack"} {
		if !names[want] {
			t.Errorf("%s is not among %v", want, names)
		}
	}
	if names["udp_tunnel"] {
		t.Error("a dependency counts as a module")
	}
}

// rpmOutput is the output of rpm 4.18 for a test package.
const rpmOutput = "N\txtest\t2\t1.0\t1.el9\tnoarch\n" +
	"P\tfoo(bar)\t=\t3:1.2\nP\tkernel(kmalloc)\t=\t0x1\nP\tplain\t\t\nP\txtest\t=\t2:1.0-1.el9\n" +
	"R\t(glibc if bash)\t\t\nR\tbash\t>=\t5\nR\trpmlib(CompressedFileNames)\t<=\t3.0.4-1\n" +
	"C\tother\t<\t3\nC\trunc\t\t\nO\told\t<=\t1\n" +
	"F\t/etc/x/a\nF\t/usr/bin/xt\nF\t/usr/share/x/with a\nline end\nF\t/usr/share/x/f\n" +
	"N\tgpg-pubkey\t0\t1\t2\t(none)\n"

func TestParsePackages(t *testing.T) {
	packages, _, err := parsePackages(rpmOutput)
	if err != nil || len(packages) != 2 {
		t.Fatalf("parsePackages = %+v, %v", packages, err)
	}
	want := Package{Name: "xtest", Epoch: "2", Version: "1.0", Release: "1.el9", Arch: "noarch",
		Provides:  []Capability{{"foo(bar)", "=", "3:1.2"}, {Name: "plain"}, {"xtest", "=", "2:1.0-1.el9"}},
		Requires:  []Capability{{Name: "(glibc if bash)"}, {"bash", ">=", "5"}},
		Conflicts: []Capability{{"other", "<", "3"}, {Name: "runc"}},
		Obsoletes: []Capability{{"old", "<=", "1"}},
		Files:     []string{"/etc/x/a", "/usr/bin/xt"}}
	if !reflect.DeepEqual(packages[1], want) {
		t.Errorf("parsePackages gave\n%+v, want\n%+v", packages[1], want)
	}
	for _, bad := range []string{"P\tx\t\t\n", "error: no database\n", "\n", ""} {
		if got, _, err := parsePackages(bad); err == nil {
			t.Errorf("parsePackages(%q) = %+v and no error", bad, got)
		}
	}
}

// TestOddPackages: a package with data that cannot be used is left out and named. The others stay.
func TestOddPackages(t *testing.T) {
	const good = "N\tbash\t0\t5.1\t1.el9\tx86_64\nP\tbash\t=\t5.1-1.el9\n"
	for _, test := range []struct{ odd, name string }{
		{"N\tagent\n", "agent"},
		{"N\tagent\tx\t1\t1\tnoarch\nP\tagent\t\t\n", "agent"},
		{"N\tagent\t(none)\t1\t1\tnoarch\n", "agent"},
		{"N\tagent\t99999999999999999999\t1\t1\ti386\n", "agent"},
		{"N\tag ent\t0\t1\t1\tnoarch\n", "ag ent"},
		{"N\tag\xff\t0\t1\t1\tnoarch\n", "ag"},
		{"N\t\t0\t1\t1\tnoarch\n", "a package without a name"},
		{"N\tagent\t0\t\t\tnoarch\n", "agent"},
		{"N\tagent\t0\t1\t1\tnoarch\nX\ty\n", "agent"},
		{"N\tagent\t0\t1\t1\tnoarch\nP\ty\n", "agent"},
		{"N\tagent\t0\t1\t1\tnoarch\nR\ta\t=\tx:1\n", "agent"},
		{"N\tagent\t0\t1\n1\t1\tnoarch\n", "agent"},
		{"N\t" + strings.Repeat("a", 500) + "\n", strings.Repeat("a", 100)},
	} {
		for _, text := range []string{good + test.odd, test.odd + good} {
			packages, odd, err := parsePackages(text)
			if err != nil || len(packages) != 1 || packages[0].Name != "bash" || len(packages[0].Provides) != 1 || !reflect.DeepEqual(odd, []string{test.name}) {
				t.Errorf("%q: %+v, %q, %v", text, packages, odd, err)
			}
		}
	}
	_, odd, err := parsePackages(good + strings.Repeat("N\tagent\n", 1000))
	if err != nil || len(odd) != maxOddPackages+1 || odd[maxOddPackages] != "980 more" {
		t.Errorf("%q, %v", odd, err)
	}
	signed := "N\tacme-monitor\t0\t1.0_beta~2\t1\ti386\nP\tacme-monitor(x86-32)\t=\t1.0_beta~2-1\n"
	if packages, odd, err := parsePackages(signed); err != nil || len(packages) != 1 || odd != nil {
		t.Errorf("a 32-bit package: %+v, %q, %v", packages, odd, err)
	}
}

func TestCapabilityText(t *testing.T) {
	for text, want := range map[string]Capability{
		"bash":                         {Name: "bash"},
		"bash >= 5.1-2.el9":            {"bash", ">=", "5.1-2.el9"},
		"(a >= 1 or b = 2)":            {Name: "(a >= 1 or b = 2)"},
		"font(:lang=de)":               {Name: "font(:lang=de)"},
		"libc.so.6(GLIBC_2.34)(64bit)": {Name: "libc.so.6(GLIBC_2.34)(64bit)"},
	} {
		var got Capability
		if err := got.UnmarshalText([]byte(text)); err != nil || got != want {
			t.Errorf("%q is %+v, %v, want %+v", text, got, err, want)
		}
		if got.String() != text {
			t.Errorf("%q is written as %q", text, got)
		}
	}
}

func TestStreams(t *testing.T) {
	h, err := replay.Host([]byte(`-- fs/etc/dnf/modules.d/php.module --
[php]
name=php
stream=8.2
profiles=common
state=enabled
-- fs/etc/dnf/modules.d/perl.module --
[perl]
name=perl
stream=
profiles=
state=disabled
-- fs/etc/dnf/modules.d/ruby.module --
[ruby]
name=ruby
stream=3.1
state=
-- fs/etc/dnf/modules.d/README --
name=none
state=enabled
`))
	if err != nil {
		t.Fatal(err)
	}
	f, err := Gather(t.Context(), h)
	if err != nil {
		t.Fatal(err)
	}
	if want := map[string]string{"php": "8.2", "perl": ""}; !maps.Equal(f.Streams, want) {
		t.Errorf("streams are %v, want %v", f.Streams, want)
	}
}
