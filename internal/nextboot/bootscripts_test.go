package nextboot

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestReadCommands(t *testing.T) {
	commands, err := ReadCommands(files(map[string]string{
		"etc/rc.d/rc.local": "#!/bin/sh\n# sysctl -w net.ipv4.ip_forward=0\nsysctl -w net.ipv4.ip_forward=0 vm.overcommit_memory=2\nsysctl -p\necho 1 > /proc/sys/net/ipv4/conf/all/rp_filter\n" +
			"sysctl net.ipv4.ip_forward\niptables -P FORWARD DROP\niptables -A INPUT -p tcp --dport 22 -j ACCEPT\nnft -f /etc/site.nft\n",
		"etc/systemd/system/tune.service":                "[Service]\nExecStart=/usr/sbin/sysctl -w \"net/ipv4/conf/eth0/forwarding=0\"\n",
		"etc/cron.d/rules":                               "@reboot root iptables-restore < /root/rules\n",
		"etc/systemd/system/kubelet.service.d/10-a.conf": "[Service]\nExecStartPre=/sbin/sysctl -w net.ipv4.ip_forward=0\n", // the check unit-files reports it
	}))
	require.NoError(t, err)
	type seen struct {
		at      string
		set     map[string]string
		filters bool
	}
	var got []seen
	for _, c := range commands {
		got = append(got, seen{c.String(), c.Parameters(), c.Filters()})
	}
	none := map[string]string{}
	assert.Equal(t, []seen{
		{"/etc/rc.d/rc.local line 3", map[string]string{"net.ipv4.ip_forward": "0", "vm.overcommit_memory": "2"}, false},
		{"/etc/rc.d/rc.local line 5", map[string]string{"net.ipv4.conf.all.rp_filter": "1"}, false},
		{"/etc/rc.d/rc.local line 7", none, true},
		{"/etc/rc.d/rc.local line 9", none, true},
		{"/etc/systemd/system/tune.service line 2", map[string]string{"net.ipv4.conf.eth0.forwarding": "0"}, false},
		{"/etc/cron.d/rules line 1", none, true},
	}, got)
}

func TestLoads(t *testing.T) {
	for command, want := range map[string]bool{
		"/sbin/modprobe --ignore-install vxlan && /sbin/ip link":    true,
		"/bin/sh -c '/sbin/modprobe -i vxlan'":                      true,
		"/bin/true; exec /usr/sbin/insmod /x.ko":                    true,
		"/bin/true # no modprobe":                                   false,
		"/usr/bin/logger \"modprobe vxlan is blocked\"; /bin/false": false,
		"echo modprobe": false,
	} {
		assert.Equal(t, want, loads(command), command)
	}
}
