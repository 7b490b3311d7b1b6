package auditrules

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

// TestFloods: a rule records the work of containers unless a condition leaves it out.
func TestFloods(t *testing.T) {
	for _, tc := range []struct {
		rule  string
		flood bool
	}{
		{"-a always,exit -F arch=b64 -S execve -k exec", true},
		{"-a exit,always -S all", true},
		{"-a always,exit -F arch=b64", true},
		{"-A exit,always -F arch=b64 -S openat,connect -k net", true},
		{"-a always,exit -F arch=b64 -S execve -F auid>=1000 -k users", true}, // unset is 4294967295
		{"-a always,exit -F arch=b64 -S execve -F 'auid>=1000' -F auid!=0", true},
		{"-a always,exit -F arch=b64 -S execve -F euid=0 -k root", true},
		{"-a always,exit -F arch=b64 -S mount -S umount2", true},
		{"-a always,exit -F dir=/var/lib -F perm=wa", true},
		{"-w /var/lib -p wa -k state", true},
		{"-w / -p x", true},
		{"-w /var/lib/containerd -p rwxa -k docker", true},
		{"-a always,exit -F arch=b64 -S execve -F auid>=1000 -F auid!=unset", false},
		{"-a always,exit -F arch=b64 -S execve -F auid>=1000 -F auid!=-1", false},
		{"-a always,exit -F arch=b64 -S execve -F auid>=1000 -F auid!=4294967295", false},
		{"-a always,exit -F arch=b64 -S execve -F auid=1000", false},
		{"-a always,exit -F arch=b64 -S execve -C uid!=euid -F euid=0 -k execpriv", false},
		{"-a always,exit -F arch=b64 -S openat -F exit=-EACCES", false},
		{"-a always,exit -F arch=b64 -S adjtimex,settimeofday -k time", false},
		{"-a always,exit -F path=/usr/bin/sudo -F perm=x -F auid>=1000", false},
		{"-a always,exit -F arch=b64 -S execve -F exe=/usr/bin/su", false},
		{"-w /etc/passwd -p wa -k identity", false},
		{"-w /var/log/lastlog -p wa", false},
		{"# -a always,exit -S execve", false},
		{"-a always,user -F uid=0", false},
	} {
		t.Run(tc.rule, func(t *testing.T) {
			var r Reader
			r.Add("/f", tc.rule)
			assert.Equal(t, tc.flood, len(r.Floods) == 1, "%+v", r.Rules)
		})
	}
}

// TestSettings: the last setting counts, with its place. Earlier rules can leave out all later ones.
func TestSettings(t *testing.T) {
	var r Reader
	r.Add("/a", "-D\n-b 8192\n-f 1\n-a always,exit -F arch=b64 -S execve -F auid>=1000\n")
	r.Add("/b", "-f 2\n-b320\n-e 2\n")
	assert.Equal(t, "/b:1", r.Panics.At)
	assert.Equal(t, 320, r.Backlog)
	assert.Equal(t, "/b:2", r.BacklogAt)
	assert.Equal(t, "/b:3", r.Locked.At)
	assert.True(t, r.Floods[0].Unset)
	for _, first := range []string{"-a never,task", "-a task,never", "-a never,exit -F auid=unset", "-a exit,never -F arch=b64 -F auid=-1"} {
		var r Reader
		r.Add("/a", first+"\n-a always,exit -S all\n")
		assert.Empty(t, r.Floods, first)
	}
	r.Add("/c", "-f 0\n-e 1\n-D\n")
	assert.Equal(t, Rules{Backlog: 320, BacklogAt: "/b:2"}, Rules{r.Floods, r.Panics, r.Backlog, r.BacklogAt, r.Locked})
}

// TestMerged: augenrules moves -D before the rules of all files.
func TestMerged(t *testing.T) {
	one, merged := Reader{}, Reader{Merged: true}
	for _, r := range []*Reader{&one, &merged} {
		r.Add("/a", "-a always,exit -S all")
		r.Add("/b", "-D")
	}
	assert.Empty(t, one.Floods)
	assert.Len(t, merged.Floods, 1)
	assert.Len(t, one.With(merged).Floods, 1)
}

func FuzzRules(f *testing.F) {
	f.Add("-a always,exit -F arch=b64 -S execve -F 'auid>=1000'\n-w /\n-b -1\n-f\n")
	f.Fuzz(func(t *testing.T, text string) {
		var r Reader
		r.Add("/f", text)
		if len(r.Floods) > maxFloods || r.Backlog < 0 {
			t.Errorf("%q gives %+v", text, r.Rules)
		}
	})
}
