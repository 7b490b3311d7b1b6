package preflight

import (
	"net/netip"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"

	"airgap.dev/airgap/preflight/facts"
	"airgap.dev/airgap/preflight/replay"
)

// gatherFiles reads the facts of a host with these files.
func gatherFiles(t *testing.T, files map[string]string) *facts.Facts {
	t.Helper()
	var a txtar.Archive
	for name, text := range files {
		a.Files = append(a.Files, txtar.File{Name: "fs/" + name, Data: []byte(text)})
	}
	h, err := replay.Host(txtar.Format(&a))
	if err != nil {
		t.Fatal(err)
	}
	f, err := facts.Gather(t.Context(), h)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// TestAddressFromDHCP reads network configurations of every kind that an EL release uses.
func TestAddressFromDHCP(t *testing.T) {
	const connection, ifcfg = facts.ConnectionsDir + "/lan.nmconnection", facts.IfcfgDir + "/ifcfg-ens192"
	address := netip.MustParseAddr("10.0.0.11")
	for name, tc := range map[string]struct {
		file, text string
		expires    bool
		want       string
	}{
		"static":                     {connection, "[connection]\ninterface-name=ens192\n\n[ipv4]\nmethod=manual\naddress1=10.0.0.11/24,10.0.0.1\n", false, ""},
		"auto":                       {connection, "[connection]\ninterface-name=ens192\n\n[ipv4]\nmethod=auto\n", true, "10.0.0.11 on ens192 is from DHCP: /" + connection + " line 5: method=auto"},
		"auto, without an end":       {connection, "\n\n[connection]\ninterface-name = ens192\n[ipv4]\nmethod = auto\n", false, "line 6: method = auto"},
		"auto for IPv6 only":         {connection, "[connection]\ninterface-name=ens192\n[ipv4]\nmethod=manual\naddress1=10.0.0.11/24\n[ipv6]\nmethod=auto\n", false, ""},
		"auto and this address":      {connection, "[connection]\ninterface-name=ens192\n[ipv4]\nmethod=auto\naddresses=10.0.0.10/24;10.0.0.11/24;\n", false, ""},
		"auto and another address":   {connection, "[connection]\ninterface-name=ens192\n[ipv4]\nmethod=auto\naddress1=10.0.0.9/24,10.0.0.11\n", false, "method=auto"},
		"auto for another interface": {connection, "[connection]\ninterface-name=ens224\n[ipv4]\nmethod=auto\n", false, ""},
		"auto for any interface":     {connection, "[connection]\nid=x\n[ipv4]\nmethod=auto\n", true, "method=auto"},
		"any interface, not in use":  {connection, "[connection]\nid=x\n[ipv4]\nmethod=auto\n", false, ""},
		"an editor's copy":           {connection + "~", "[connection]\ninterface-name=ens192\n[ipv4]\nmethod=auto\n", false, ""},
		"a comment":                  {connection, "[connection]\ninterface-name=ens192\n[ipv4]\n#method=auto\n", false, ""},
		"EL 8":                       {ifcfg, "TYPE=Ethernet\nBOOTPROTO=\"dhcp\"\nDEVICE=ens192\n", false, "/" + ifcfg + ` line 2: BOOTPROTO="dhcp"`},
		"EL 8, static":               {ifcfg, "BOOTPROTO=none\nIPADDR=10.0.0.11\nDEVICE=ens192\n", false, ""},
		"EL 8, no device":            {ifcfg, "BOOTPROTO=dhcp\n", false, "line 1: BOOTPROTO=dhcp"},
		"in memory":                  {"run/NetworkManager/system-connections/Wired connection 1.nmconnection", "[connection]\ninterface-name=ens192\n[ipv4]\nmethod=auto\n", true, "/run/NetworkManager/"},
		"added by hand": {connection, "[connection]\ninterface-name=ens192\n[ipv4]\nmethod=manual\naddress1=10.0.0.99/24,10.0.0.11\n", false,
			"10.0.0.11 on ens192 is in no file, so a reboot removes it: /" + connection + " sets 10.0.0.99"},
		"added by hand, EL 8":      {ifcfg, "BOOTPROTO=none\nIPADDR=10.0.0.99\nPREFIX=24\n", false, "/" + ifcfg + " sets 10.0.0.99"},
		"an alias of EL 8":         {ifcfg + ":1", "DEVICE=ens192:1\nIPADDR=10.0.0.11\n", false, ""},
		"another interface's file": {connection, "[connection]\ninterface-name=ens224\n[ipv4]\nmethod=manual\naddress1=10.1.0.9/24\n", false, ""},
		"another program's":        {"etc/motd", "", true, "10.0.0.11 on ens192 expires"},
	} {
		t.Run(name, func(t *testing.T) {
			f := gatherFiles(t, map[string]string{tc.file: tc.text})
			f.Links = []facts.Link{{Name: "ens192", Addresses: []netip.Prefix{netip.PrefixFrom(address, 24)}}}
			if tc.expires {
				f.Links[0].Dynamic = []netip.Addr{address}
			}
			got := judgeNodeIP(f, &Want{NodeAddress: "10.0.0.11"})
			if tc.want == "" && got.Status != Pass || tc.want != "" && (got.Status != Warn || !strings.Contains(got.Found, tc.want)) {
				t.Errorf("got %+v, want %q", got, tc.want)
			}
		})
	}
}

func TestUSBStorage(t *testing.T) {
	for name, tc := range map[string]struct {
		file, text string
		unit       string
		medium     string
		want       string
	}{
		"nothing":                 {"etc/motd", "", "", "", ""},
		"install":                 {"etc/modprobe.d/cis.conf", "# CIS\n\ninstall usb-storage /bin/true\n", "", "", "/etc/modprobe.d/cis.conf line 3: install usb-storage /bin/true"},
		"install, other spelling": {"usr/lib/modprobe.d/x.conf", "install usb_storage /usr/bin/false\n", "", "", "line 1"},
		"a blacklist":             {"run/modprobe.d/x.conf", "blacklist usb-storage", "", "", "blacklist usb-storage"},
		"an install line of use":  {"etc/modprobe.d/x.conf", "install usb-storage /sbin/modprobe --ignore-install usb-storage\n", "", "", ""},
		"another module":          {"etc/modprobe.d/x.conf", "install usbserial /bin/true\n", "", "", ""},
		"not a .conf":             {"etc/modprobe.d/x.conf.bak", "install usb-storage /bin/true\n", "", "", ""},
		"the kernel's command":    {"proc/cmdline", "root=/dev/sda1 module_blacklist=pcspkr,usb_storage ro", "", "", "/proc/cmdline line 1: module_blacklist=pcspkr,usb_storage"},
		"no new USB devices":      {"proc/cmdline", "usbcore.authorized_default=0", "", "", "usbcore.authorized_default=0"},
		"nousb":                   {"proc/cmdline", "quiet nousb", "", "", "nousb"},
		"usbguard":                {"etc/motd", "", "active", "", "usbguard.service is active"},
		"usbguard is off":         {"etc/motd", "", "inactive", "", "the next boot starts usbguard.service"},
		"usbguard stays off":      {"etc/motd", "", "off", "", ""},
		"the next entry":          {"boot/loader/entries/a.conf", "title A\nlinux /vmlinuz-5.14.0-1.el9.x86_64\noptions ro nousb\n", "", "", "/boot/loader/entries/a.conf line 3: nousb"},
		"readable already":        {"etc/modprobe.d/cis.conf", "install usb-storage /bin/true\n", "", "sda3", ""},
		"read through NFS":        {"etc/modprobe.d/cis.conf", "install usb-storage /bin/true\n", "", "network", ""},
	} {
		t.Run(name, func(t *testing.T) {
			f := gatherFiles(t, map[string]string{tc.file: tc.text})
			f.Units = []facts.Unit{{Name: "usbguard.service", State: tc.unit, Enabled: map[bool]string{true: "enabled", false: "disabled"}[strings.HasSuffix(tc.unit, "active")]}}
			got := judgeUSB(f, &Want{MediumDevices: strings.Fields(tc.medium)})
			if tc.want == "" && got.Status != Pass || tc.want != "" && (got.Status != Warn || !strings.Contains(got.Found, tc.want)) {
				t.Errorf("got %+v, want %q", got, tc.want)
			}
		})
	}
}

func TestFileScans(t *testing.T) {
	const aide, crontab, updatedb = "etc/aide.conf", "etc/crontab", "etc/updatedb.conf"
	daily := "SHELL=/bin/bash\n0 5 * * * root /usr/sbin/aide --check\n"
	for name, tc := range map[string]struct {
		files map[string]string
		timer string
		want  string
	}{
		"nothing":                          {nil, "", ""},
		"AIDE of everything, cron":         {map[string]string{crontab: daily, aide: "/ NORMAL\n"}, "", "AIDE reads /var/lib/containerd and /var/lib/kubelet, started by /etc/crontab line 2: 0 5"},
		"AIDE, a timer":                    {map[string]string{aide: "/var NORMAL\n"}, "aidecheck.timer", "started by aidecheck.timer"},
		"AIDE, not started":                {map[string]string{aide: "/ NORMAL\n"}, "", ""},
		"AIDE, EL's own selections":        {map[string]string{crontab: daily, aide: "/boot NORMAL\n/etc PERMS\n/var/log LOG\n/var/run/utmp LOG\n"}, "", ""},
		"AIDE, excluded":                   {map[string]string{crontab: daily, aide: "/ NORMAL\n!/var/lib/containerd\n!/var/lib/kubelet/.*\n"}, "", ""},
		"AIDE, a parent is excluded":       {map[string]string{crontab: daily, aide: "!/var/lib\n/ NORMAL\n"}, "", ""},
		"AIDE, one of two excluded":        {map[string]string{crontab: daily, aide: "/ NORMAL\n!/var/lib/containerd\n"}, "", "AIDE reads /var/lib/kubelet,"},
		"AIDE, a similar name is excluded": {map[string]string{crontab: daily, aide: "/ NORMAL\n!/var/lib/containerd2\n!/var/lib/kubelet\n"}, "", "AIDE reads /var/lib/containerd,"},
		"AIDE, only a directory":           {map[string]string{crontab: daily, aide: "=/var NORMAL\n/var$ NORMAL\n"}, "", ""},
		"AIDE, a comment":                  {map[string]string{crontab: "# aide --check\n", aide: "/ NORMAL\n"}, "", ""},
		"AIDE, root's own table":           {map[string]string{"var/spool/cron/root": "0 5 * * * /usr/sbin/aide --check\n", "etc/aide.conf.d/10.conf": "/ NORMAL\n"}, "", "/var/spool/cron/root line 1"},
		"updatedb": {map[string]string{updatedb: "PRUNEPATHS = \"/tmp /var/tmp\"\n"}, "mlocate-updatedb.timer",
			"updatedb reads /var/lib/containerd and /var/lib/kubelet, started by mlocate"},
		"updatedb of EL 10, excluded":      {map[string]string{updatedb: "PRUNEPATHS=\"/tmp /var/lib/containerd /var/lib/kubelet/\"\n"}, "plocate-updatedb.timer", ""},
		"updatedb, a script of cron.daily": {map[string]string{"etc/cron.daily/mlocate": "#!/bin/sh\n/usr/bin/updatedb\n"}, "", "/etc/cron.daily/mlocate line 2"},
	} {
		t.Run(name, func(t *testing.T) {
			f := gatherFiles(t, tc.files)
			f.Units = []facts.Unit{{Name: tc.timer, State: "active", Enabled: "enabled"}}
			got := judgeFileScans(f, &Want{})
			if tc.want == "" && got.Status != Pass || tc.want != "" && (got.Status != Warn || !strings.Contains(got.Found, tc.want)) {
				t.Errorf("got %+v, want %q", got, tc.want)
			}
		})
	}
}
