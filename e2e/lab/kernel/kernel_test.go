package kernel

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"io/fs"
	"path"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"golang.org/x/sys/unix"
)

// release is the kernel release of the machines in this test, a name of Debian 12.
const release = "6.1.0-50-amd64"

// config returns a configuration with the same value for all options, and some more options.
func config(value string) string {
	text := "# a comment\nCONFIG_64BIT=y\n# CONFIG_AX25 is not set\n"
	for _, o := range options() {
		text += "CONFIG_" + o.symbol + "=" + value + "\n"
	}
	return text + "CONFIG_NF_TABLES_BRIDGE=" + value + "\nCONFIG_BPF_SYSCALL=y\nCONFIG_DEBUG_INFO_BTF=y\n"
}

func packed(t *testing.T, text string) string {
	t.Helper()
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	if _, err := z.Write([]byte(text)); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// dep is Debian's modules.dep with the modules of all options.
func dep() string {
	text := "kernel/fs/nfs/nfs.ko: kernel/fs/lockd/lockd.ko\n"
	for _, o := range options() {
		for _, file := range o.files {
			text += strings.Replace(file, "br_netfilter", "br-netfilter", 1) + ": kernel/net/llc/llc.ko\n"
		}
	}
	return text
}

// hybrid returns the mounts of a machine with both versions of cgroups, v2only the mounts
// of Debian 12 by default.
func hybrid() map[string]int64 {
	mounts := map[string]int64{CgroupRoot: unix.TMPFS_MAGIC, CgroupRoot + "/unified": unix.CGROUP2_SUPER_MAGIC}
	for _, name := range []string{"blkio", "cpu", "cpuacct", "cpuset", "devices", "freezer", "memory", "pids", "systemd"} {
		mounts[CgroupRoot+"/"+name] = unix.CGROUP_SUPER_MAGIC
	}
	return mounts
}

func v2only() map[string]int64 {
	return map[string]int64{
		CgroupRoot:                   unix.CGROUP2_SUPER_MAGIC,
		CgroupRoot + "/init.scope":   unix.CGROUP2_SUPER_MAGIC,
		CgroupRoot + "/system.slice": unix.CGROUP2_SUPER_MAGIC,
		CgroupRoot + "/user.slice":   unix.CGROUP2_SUPER_MAGIC,
	}
}

func without(mounts map[string]int64, name string) map[string]int64 {
	delete(mounts, CgroupRoot+"/"+name)
	return mounts
}

// machine returns a Machine with these mounts and files. Loaded modules are in /sys/module.
func machine(mounts map[string]int64, files map[string]string) (Machine, *[]string) {
	tree, asked := fstest.MapFS{}, &[]string{}
	for name, text := range files {
		tree[name] = &fstest.MapFile{Data: []byte(text)}
	}
	for dir := range mounts {
		tree[strings.TrimPrefix(dir, "/")+"/cgroup.procs"] = &fstest.MapFile{}
	}
	magic := func(dir string) (int64, error) {
		if found, mounted := mounts[dir]; mounted {
			return found, nil
		}
		return 0, fs.ErrNotExist
	}
	load := func(_ context.Context, modules ...string) error {
		*asked = modules
		for _, name := range modules {
			tree["sys/module/"+name] = &fstest.MapFile{Mode: fs.ModeDir | 0o755}
		}
		return nil
	}
	return Machine{Release: release, Files: tree, Magic: magic, Load: load}, asked
}

func TestCheck(t *testing.T) {
	const inBoot, modules, controllers = "boot/config-" + release, "lib/modules/" + release + "/modules.dep", "sys/fs/cgroup/cgroup.controllers"
	all := packed(t, config("y"))
	for name, tc := range map[string]struct {
		mounts map[string]int64
		files  map[string]string
		want   []string // a part of each sentence
	}{
		"all built in":                 {hybrid(), map[string]string{packedConfig: all}, nil},
		"Debian's kernel, both cgroup": {hybrid(), map[string]string{inBoot: config("m"), modules: dep()}, nil},
		"Debian by default":            {v2only(), map[string]string{inBoot: config("m"), modules: dep(), controllers: "cpuset cpu io memory hugetlb pids rdma misc\n"}, nil},
		"cgroup v2 without memory": {v2only(), map[string]string{packedConfig: all, controllers: "cpu io pids\n"},
			[]string{"cgroup v2 with the controllers cpuset, memory: remove cgroup_disable from"}},
		"no controller for processes": {without(hybrid(), "pids"), map[string]string{packedConfig: all}, []string{"/… for pids, next to other controllers of v1: boot with"}},
		"no cgroup":                   {nil, map[string]string{packedConfig: all}, []string{"none is mounted at /sys/fs/cgroup; mount -t cgroup2"}},
		"no cgroup v2":                {without(hybrid(), "unified"), map[string]string{packedConfig: all}, []string{"cgroup v2 in addition to v1, to monitor programs: mkdir"}},
		"the modules of another kernel": {hybrid(), map[string]string{inBoot: config("m"), "lib/modules/6.1.0-49-amd64/modules.dep": dep(), "sys/module/overlay/x": ""},
			[]string{
				"bridge, not loaded", "br_netfilter, not loaded", "xt_comment,", "xt_conntrack,", "xt_MASQUERADE,", "xt_REDIRECT,", "nft_compat,", "nft_masq,",
				"nft_chain_nat,", "nft_nat,", "nf_conntrack,", "nf_nat,", "nf_tables,", "veth,", "then modprobe vxlan"}},
		"no configuration":    {hybrid(), nil, []string{"its configuration, not found at /proc/config.gz, /boot/config-" + release + ","}},
		"a cut configuration": {hybrid(), map[string]string{packedConfig: all[:len(all)/2]}, []string{"its configuration, not found at"}},
		"built without": {hybrid(), map[string]string{
			packedConfig: packed(t, strings.NewReplacer("CONFIG_VXLAN=y", "# CONFIG_VXLAN is not set", "CONFIG_NF_TABLES_BRIDGE=y\n", "", "CONFIG_IP_VS=y\n", "").Replace(config("y"))),
		},
			[]string{"CONFIG_VXLAN: boot a kernel", "CONFIG_NF_TABLES_BRIDGE: boot a kernel"}},
	} {
		t.Run(name, func(t *testing.T) {
			m, _ := machine(tc.mounts, tc.files)
			err := m.Check()
			if len(tc.want) == 0 {
				if err != nil {
					t.Error(err)
				}
				return
			}
			if err == nil {
				t.Fatal("got no error")
			}
			_, list, _ := strings.Cut(err.Error(), "\n- ")
			sentences := strings.Split(list, "\n- ")
			if len(sentences) != len(tc.want) {
				t.Fatalf("%d sentences, want %d: %v", len(sentences), len(tc.want), err)
			}
			for i, want := range tc.want {
				if !strings.Contains(sentences[i], want) {
					t.Errorf("sentence %d is %q, want %q", i, sentences[i], want)
				}
			}
		})
	}
}

func TestHierarchies(t *testing.T) {
	m, _ := machine(hybrid(), map[string]string{"sys/fs/cgroup/plain/cgroup.procs": ""})
	got, err := m.Hierarchies()
	for i := range got {
		got[i] = path.Base(got[i])
	}
	if want := strings.Fields("blkio cpu cpuacct cpuset devices freezer memory pids systemd unified"); err != nil || !slices.Equal(got, want) {
		t.Errorf("got %v, %v; want %v", got, err, want)
	}
	m, _ = machine(v2only(), nil)
	if got, err := m.Hierarchies(); err != nil || !slices.Equal(got, []string{CgroupRoot}) {
		t.Errorf("only cgroup v2: got %v, %v", got, err)
	}
	m, _ = machine(nil, nil)
	if _, err := m.Hierarchies(); err == nil || !strings.Contains(err.Error(), "none is mounted at /sys/fs/cgroup") {
		t.Errorf("no cgroup: got %v, want an error", err)
	}
}

// Builtin lists the built-in options and the loaded modules. It first loads the required modules.
func TestBuiltin(t *testing.T) {
	m, asked := machine(hybrid(), map[string]string{packedConfig: packed(t, "CONFIG_OVERLAY_FS=y\n# CONFIG_NET_IPIP is not set\nCONFIG_WIREGUARD=y\nCONFIG_BRIDGE_NETFILTER=y\nCONFIG_64BIT=y\n")})
	c, err := m.Config()
	if err != nil || !c.Packed() {
		t.Fatalf("configuration: read from %s, %v", c.File, err)
	}
	const want = "kernel/net/bridge/br_netfilter.ko\nkernel/fs/overlayfs/overlay.ko\nkernel/drivers/net/wireguard/wireguard.ko\n"
	if got, err := m.Builtin(t.Context(), c); err != nil || string(got) != want || len(*asked) > 0 {
		t.Errorf("got %q, %v, loaded %v; want %q", got, err, *asked, want)
	}

	m, asked = machine(hybrid(), map[string]string{"boot/config-" + release: "CONFIG_NFT_NAT=m\nCONFIG_IP_SET=m\nCONFIG_NET_IPIP=m\nCONFIG_VETH=m\n", "sys/module/ip_set/x": "", "sys/module/veth/x": ""})
	if c, err = m.Config(); err != nil || c.Packed() {
		t.Fatalf("read from %s, %v", c.File, err)
	}
	const ofModules = "kernel/net/netfilter/ipset/ip_set.ko\nkernel/net/netfilter/nft_chain_nat.ko\nkernel/net/netfilter/nft_nat.ko\nkernel/drivers/net/veth.ko\n"
	if got, err := m.Builtin(t.Context(), c); err != nil || string(got) != ofModules || !slices.Equal(*asked, []string{"nft_chain_nat", "nft_nat"}) {
		t.Errorf("got %q, %v, loaded %v; want %q", got, err, *asked, ofModules)
	}

	refused := errors.New("Operation not permitted")
	m, _ = machine(hybrid(), nil)
	m.Load = func(context.Context, ...string) error { return refused }
	if _, err := m.Builtin(t.Context(), c); !errors.Is(err, refused) {
		t.Errorf("failed load: got %v, want %v", err, refused)
	}
}
