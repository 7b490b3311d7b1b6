package nextboot

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestReadBlocks(t *testing.T) {
	blocks, err := ReadBlocks(files(map[string]string{
		"etc/modprobe.d/a.conf":           "# a\ninstall vxlan /bin/false\ninstall sctp /bin/false\ninstall nf_conntrack /sbin/modprobe --ignore-install nf_conntrack hashsize=1\n",
		"usr/lib/modprobe.d/a.conf":       "install overlay /bin/true\n", // hidden by the file in /etc
		"usr/local/lib/modprobe.d/b.conf": "install nft-compat \\\n  /usr/bin/logger no\nblacklist br_netfilter\r\n",
		"run/modprobe.d/c.conf":           "alias xt_comment off\nalias x overlay\noptions overlay a=1\ninstall nf_tables\n",
		"etc/modprobe.d/readme":           "install overlay /bin/false\n",
		"lib/modprobe.d/systemd.conf":     "install overlay /bin/false\n", // a link to /usr/lib
	}), []string{"vxlan", "overlay", "br_netfilter", "nft_compat", "xt_comment", "nf_conntrack", "nf_tables"})
	require.NoError(t, err)
	assert.Equal(t, []Block{
		{"vxlan", "install", Place{"/etc/modprobe.d/a.conf", 2}},
		{"nft_compat", "install", Place{"/usr/local/lib/modprobe.d/b.conf", 1}},
		{"br_netfilter", "blacklist", Place{"/usr/local/lib/modprobe.d/b.conf", 3}},
		{"xt_comment", "alias", Place{"/run/modprobe.d/c.conf", 1}},
	}, blocks)
}

func TestReadSELinux(t *testing.T) {
	for _, test := range []struct {
		name, text string
		want       SELinux
	}{
		{"EL's", "# SELINUX=disabled\nSELINUX=enforcing\n#\nSELINUXTYPE=targeted\n", SELinux{Mode: "enforcing", ModeLine: 2, Type: "targeted", TypeLine: 4}},
		{"the first mode counts", "SELINUX=Permissive # now\nSELINUX=enforcing\nSELINUXTYPE=targeted\nSELINUXTYPE=mls\n", SELinux{Mode: "permissive", ModeLine: 1, Type: "mls", TypeLine: 4}},
		{"a typing error", "SELINUX=enfocing\nSELINUX= disabled\n", SELinux{Mode: "disabled", ModeLine: 2}},
		{"none", "SELINUXTYPE=minimum\n", SELinux{Mode: "unset", Type: "minimum", TypeLine: 1}},
	} {
		got, err := ReadSELinux(files(map[string]string{selinuxConfig: test.text}))
		require.NoError(t, err)
		assert.Equal(t, test.want, got, test.name)
	}
	got, err := ReadSELinux(files(map[string]string{".autorelabel": ""}))
	require.NoError(t, err)
	assert.Equal(t, "disabled", got.Mode)
}

func TestNextSELinux(t *testing.T) {
	for _, test := range []struct{ mode, cmdline, want, from string }{
		{"enforcing", "ro quiet", "enforcing", "/etc/selinux/config line 2"},
		{"enforcing", "selinux=0", "disabled", "selinux=0 in entry"},
		{"enforcing", "enforcing=0", "permissive", "enforcing=0 in entry"},
		{"permissive", "enforcing=0 enforcing=1", "enforcing", "enforcing=1 in entry"},
		{"disabled", "enforcing=1", "disabled", "/etc/selinux/config line 2"},
		{"enforcing", "lsm=lockdown,yama", "disabled", "lsm=lockdown,yama in entry"},
		{"enforcing", "lsm=lockdown,selinux,bpf", "enforcing", "/etc/selinux/config line 2"},
	} {
		mode, from := SELinux{Mode: test.mode, ModeLine: 2}.Next(test.cmdline, "entry")
		assert.Equal(t, test.want+" "+test.from, mode+" "+from)
	}
}
