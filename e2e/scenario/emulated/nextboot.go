package emulated

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"airgap.dev/airgap/e2e/lab"
	"airgap.dev/airgap/e2e/scenario"
)

// NextBoot checks that preflight describes the next boot. An emulated worker works now, and its
// files bring another state at the next boot. preflight must report each of them before the
// reboot, and after it the server must be in the reported state. On a control-plane host,
// etcd's file system is missing after a power cut: etcd must not start on an empty directory.
func NextBoot(ctx context.Context, e *scenario.Env) error {
	stick := filepath.Join(e.Work, "stick")
	return e.WithServersOf(ctx, []lab.Kind{lab.KindContainer, lab.KindEmulated}, func(l *lab.Lab) error {
		first, worker := l.Machines[0], l.Machines[1]
		return e.InOrder([]scenario.Part{
			{Title: "survey", Run: func() error { return e.Survey(ctx, l.Machines...) }},
			{Title: "bundle", Run: func() error { return e.MakeBundle(ctx, stick) }},
			{Title: "the program, from the stick", Run: func() error {
				return errors.Join(e.InstallProgram(ctx, first, stick), e.InstallProgram(ctx, worker, stick))
			}},
			{Title: "preflight without a trap", Run: func() error { return reportsNone(ctx, e, worker) }},
			{Title: "a root file system that is almost full", Run: func() error { return almostFull(ctx, e, worker) }},
			{Title: "traps, which change nothing now", Run: func() error { return plant(ctx, e, worker) }},
			{Title: "survey by script", Run: func() error {
				return errors.Join(e.Survey(ctx, worker), scenario.SurveyByScript(ctx, e, worker))
			}},
			{Title: "preflight names each trap", Run: func() error { return reportsAll(ctx, e, worker) }},
			{Title: "a reboot", Run: func() error { return restarted(ctx, e, worker) }},
			{Title: "the server is in the reported state", Run: func() error { return sprung(ctx, e, worker) }},
			{Title: "preflight still names each trap", Run: func() error { return errors.Join(worker.AttachStick(ctx, stick), stillReported(ctx, e, worker)) }},
			{Title: "install", Run: func() error { return e.InstallOnce(ctx, first) }},
			{Title: "etcd's file system is missing", Run: func() error { return withoutEtcdVolume(ctx, e, first) }},
			{Title: "etcd's file system is back", Run: func() error { return etcdVolumeBack(ctx, e, first) }},
		})
	})
}

// bootTrap is a difference between now and the next boot.
type bootTrap struct {
	plant  string // shell line that prepares it, and checks that it has no effect yet
	check  string // ID
	status string
	says   string // in the result of the check
	sprung string // shell line that succeeds only after the boot
}

// bootTraps are variants of the first class in docs/traps.md, except those that need GRUB or
// SELinux, which the lab's servers do not have.
func bootTraps() []bootTrap {
	const swapFile = `dd if=/dev/zero of=/%[1]s bs=1M count=8 status=none && chmod 600 /%[1]s && mkswap /%[1]s && `
	return []bootTrap{
		{
			fmt.Sprintf(swapFile, "swapfile") + `printf '# change 4711\n/swapfile none swap defaults 0 0\n' >>/etc/fstab && ! swapon --show | grep .`,
			"swap", "fail", "off now; the next boot turns on /swapfile (/etc/fstab line ", "swapon --show=NAME --noheadings --raw | grep -qx /swapfile",
		},
		{
			fmt.Sprintf(swapFile, "extra") + `printf '[Swap]\nWhat=/extra\n[Install]\nWantedBy=swap.target\n' >/etc/systemd/system/extra.swap && systemctl enable extra.swap && ! swapon --show | grep .`,
			"swap", "fail", "/extra (/etc/systemd/system/extra.swap line 2)", "swapon --show=NAME --noheadings --raw | grep -qx /extra",
		},
		{
			`sysctl -qw net.ipv4.ip_forward=1 && echo 'net.ipv4.ip_forward = 1' >/etc/sysctl.d/10-router.conf && mkdir -p /usr/local/lib/sysctl.d && ` +
				`echo 'net.ipv4.conf.default.forwarding = 0' >/usr/local/lib/sysctl.d/zz-hardening.conf && ` + newLinkForwards("1"),
			"ip-forward", "fail", "/usr/local/lib/sysctl.d/zz-hardening.conf:1 sets net.ipv4.conf.default.forwarding = 0 at every boot", "grep -qx 1 /proc/sys/net/ipv4/ip_forward && " + newLinkForwards("0"),
		},
		{
			`echo 'net.ipv4.conf.*.arp_ignore = 1' >/etc/sysctl.d/50-arp.conf && grep -qx 0 /proc/sys/net/ipv4/conf/eth0/arp_ignore`,
			"arp-sysctl", "warn", "arp_ignore = 1 on eth0", "grep -qx 1 /proc/sys/net/ipv4/conf/eth0/arp_ignore",
		},
		{
			`echo 'user.max_cgroup_namespaces = 0' >/etc/sysctl.d/60-site.conf && unshare --cgroup true`,
			"user-namespaces", "fail", "user.max_cgroup_namespaces = 0", "! unshare --cgroup true",
		},
		{
			`modprobe overlay && echo overlay >/etc/modules-load.d/site.conf && echo 'blacklist overlay' >/etc/modprobe.d/site.conf`,
			"kernel-modules", "fail", `at the next boot, disabled by "blacklist overlay" in /etc/modprobe.d/site.conf line 1`, "! grep -q '^overlay ' /proc/modules",
		},
		{
			volume("kubelet.img", "-L kubelet") + `losetup /dev/loop0 /kubelet.img && udevadm settle && mkdir -p /var/lib/kubelet && ` +
				`echo 'LABEL=kubelet /var/lib/kubelet ext4 nofail,x-systemd.device-timeout=1s 0 0' >>/etc/fstab && systemctl daemon-reload && mount /var/lib/kubelet`,
			"boot-mounts", "fail", "mounts /var/lib/kubelet with nofail", "! mountpoint -q /var/lib/kubelet",
		},
		{
			volume("images.img", "") + `mkdir -p /var/lib/containerd && mount -o loop /images.img /var/lib/containerd`,
			"boot-mounts", "fail", "mounted at /var/lib/containerd, and neither /etc/fstab nor a mount unit mounts it", "! mountpoint -q /var/lib/containerd",
		},
		{
			`echo 'tmpfs /opt tmpfs noexec,size=1m 0 0' >>/etc/fstab && ! mountpoint -q /opt`,
			"mount-noexec", "fail", "noexec on /opt (/etc/fstab:", "findmnt -no OPTIONS /opt | grep -q noexec",
		},
		{
			`echo 'proc /proc proc defaults,hidepid=2 0 0' >>/etc/fstab && ! findmnt -no OPTIONS /proc | grep hidepid`,
			"hidepid", "warn", "from the next boot on (/etc/fstab", "findmnt -no OPTIONS /proc | grep -Eq 'hidepid=(2|invisible)'",
		},
		{
			`sysctl -qw kernel.panic=10 && ` +
				`printf '[Service]\nType=oneshot\nExecStart=/sbin/sysctl -w kernel.panic=7\n[Install]\nWantedBy=multi-user.target\n' >/etc/systemd/system/tune.service && systemctl enable tune.service`,
			"boot-commands", "warn", "/etc/systemd/system/tune.service line 3 sets kernel.panic = 7", "grep -qx 7 /proc/sys/kernel/panic",
		},
	}
}

// newLinkForwards is a shell condition: a new interface has this value, as the interfaces of pods
// have.
func newLinkForwards(value string) string {
	return "ip link add name bank0 type dummy && grep -qx " + value + " /proc/sys/net/ipv4/conf/bank0/forwarding && ip link delete bank0"
}

func volume(file, options string) string {
	return fmt.Sprintf("truncate -s 64M /%[1]s && mkfs.ext4 -q %[2]s /%[1]s && ", file, options)
}

func plant(ctx context.Context, e *scenario.Env, m lab.Machine) error {
	for _, t := range bootTraps() {
		if err := e.Script(ctx, m, t.plant); err != nil {
			return err
		}
	}
	return nil
}

func sprung(ctx context.Context, e *scenario.Env, m lab.Machine) error {
	var errs []error
	for _, t := range bootTraps() {
		errs = append(errs, e.Script(ctx, m, t.sprung))
	}
	return errors.Join(errs...)
}

// verdict is the result of a check.
type verdict struct{ ID, Status, Found string }

// bootVerdicts runs the checks of all traps.
func bootVerdicts(ctx context.Context, e *scenario.Env, m lab.Machine) (map[string]verdict, error) {
	var ids []string
	for _, t := range bootTraps() {
		if !slices.Contains(ids, t.check) {
			ids = append(ids, t.check)
		}
	}
	r, err := e.On(ctx, m, "", "airgap", "preflight", "--only", strings.Join(ids, ","), "--output", "json", lab.StickPath+"/bank")
	if err != nil {
		return nil, err
	}
	var report struct{ Results []verdict }
	if err := json.Unmarshal([]byte(r.Stdout), &report); err != nil {
		return nil, fmt.Errorf("read the report: %w: %s", err, r.Stderr)
	}
	found := map[string]verdict{}
	for _, v := range report.Results {
		found[v.ID] = v
	}
	if len(found) != len(ids) {
		return nil, fmt.Errorf("the report has %d checks, want %q: %s", len(found), ids, r.Stdout)
	}
	return found, nil
}

func reportsNone(ctx context.Context, e *scenario.Env, m lab.Machine) error {
	found, err := bootVerdicts(ctx, e, m)
	for _, v := range found {
		if v.Status != "pass" {
			err = errors.Join(err, fmt.Errorf("without a trap, check %s reports %s: %s", v.ID, v.Status, v.Found))
		}
	}
	return err
}

func reportsAll(ctx context.Context, e *scenario.Env, m lab.Machine) error {
	found, err := bootVerdicts(ctx, e, m)
	if err != nil {
		return err
	}
	var errs []error
	for _, t := range bootTraps() {
		if v := found[t.check]; v.Status != t.status || !strings.Contains(v.Found, t.says) {
			errs = append(errs, fmt.Errorf("check %s reports %s: %s; want %s with %q", t.check, v.Status, v.Found, t.status, t.says))
		}
	}
	return errors.Join(errs...)
}

// almostFull fills the root file system except for 20 MB. The surveys still work, and preflight names it.
func almostFull(ctx context.Context, e *scenario.Env, m lab.Machine) error {
	script, err := e.Airgap(ctx, "survey", "--script")
	if err != nil {
		return err
	}
	if err := lab.PutFile(ctx, m, "/run/survey.sh", 0o644, strings.NewReader(script.Stdout)); err != nil {
		return err
	}
	const fill = "fallocate -l $(($(df --output=avail --block-size=1 / | tail -1) - 20000000)) /filler"
	if err := e.Script(ctx, m, fill, "sh /run/survey.sh | grep -q '^-- end/ --'", "airgap survey --output yaml | grep -q '^schema:'"); err != nil {
		return err
	}
	r, err := e.On(ctx, m, "", "airgap", "preflight", "--only", "disk-space", lab.StickPath+"/bank")
	if err != nil {
		return err
	}
	return errors.Join(r.Want("preflight with a full disk", 3, "free on / (", "needed", "grow the file system"), e.Script(ctx, m, "rm /filler"))
}

// stillReported checks that preflight also reports the state that the boot has brought.
func stillReported(ctx context.Context, e *scenario.Env, m lab.Machine) error {
	found, err := bootVerdicts(ctx, e, m)
	for _, v := range found {
		if v.Status != "fail" && v.Status != "warn" {
			err = errors.Join(err, fmt.Errorf("after the boot, check %s reports %s: %s", v.ID, v.Status, v.Found))
		}
	}
	return err
}

// lostVolume unmounts etcd's file system at boot, before the kubelet starts.
const lostVolume = "/etc/systemd/system/lost-volume.service"

func withoutEtcdVolume(ctx context.Context, e *scenario.Env, m lab.Machine) error {
	err := e.Script(ctx, m,
		scenario.Kubectl+"create configmap kept",
		`printf '[Unit]\nBefore=kubelet.service\n[Service]\nType=oneshot\nExecStart=/bin/umount /var/lib/etcd\n[Install]\nRequiredBy=multi-user.target\n' >`+lostVolume+` && systemctl enable lost-volume.service`,
		"sync")
	if err := errors.Join(err, m.Kill(ctx), m.Start(ctx)); err != nil {
		return err
	}
	return e.Script(ctx, m,
		"! mountpoint -q /var/lib/etcd",
		scenario.Retry("journalctl --boot --unit kubelet | grep -q 'airgap: /var/lib/etcd/member is missing, and this host is a member of etcd'"),
		"! pgrep -x etcd && ! test -e /var/lib/etcd/member && ! systemctl is-active --quiet kubelet")
}

func etcdVolumeBack(ctx context.Context, e *scenario.Env, m lab.Machine) error {
	err := e.Script(ctx, m, "systemctl disable lost-volume.service && rm "+lostVolume+" && sync")
	if err := errors.Join(err, m.Kill(ctx), m.Start(ctx)); err != nil {
		return err
	}
	return e.Script(ctx, m, scenario.Retry(scenario.Kubectl+"get configmap kept"))
}
