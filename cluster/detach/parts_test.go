package detach

import (
	"bytes"
	"net"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestWhereItStays: only a process that ends with a login session starts a unit.
func TestWhereItStays(t *testing.T) {
	for name, c := range map[string]struct {
		cgroup string
		prior  func(t *testing.T, l *lab)
		want   bool
	}{
		"a session, cgroup v2":             {sessionCgroup, nil, true},
		"a session, EL 8":                  {"12:memory:/user.slice/user-0.slice/session-1.scope\n1:name=systemd:/user.slice/user-0.slice/session-1.scope\n", nil, true},
		"only a controller's path":         {"12:memory:/user.slice/user-0.slice/session-1.scope\n1:name=systemd:/system.slice/x.service\n", nil, false},
		"below a container's path":         {"1:name=systemd:/lab/node1/user.slice/user-0.slice/session-1.scope\n", nil, true},
		"tmux of systemd --user":           {"0::/user.slice/user-0.slice/user@0.service/tmux.scope\n", nil, true},
		"sshd without pam_systemd":         {"0::/system.slice/sshd.service\n", nil, true},
		"sshd by its socket":               {"0::/system.slice/system-sshd.slice/sshd@3-10.0.0.1:22-10.0.0.2:50000.service\n", nil, true},
		"its own unit":                     {"0::/system.slice/airgap-run-install.service\n", nil, false},
		"a timer of airgap":                {"0::/system.slice/airgap-certs-renew.service\n", nil, false},
		"tmux in its own scope":            {"0::/system.slice/run-r1.scope\n", nil, false},
		"a container's root":               {"0::/\n", nil, false},
		"nothing readable":                 {"", nil, false},
		"without systemd":                  {sessionCgroup, func(t *testing.T, l *lab) { l.Put(t, "proc/1/comm", "sh\n") }, false},
		"a private /tmp (pam_namespace)":   {sessionCgroup, func(t *testing.T, l *lab) { relink(t, l, "ns/mnt") }, false},
		"a network namespace":              {sessionCgroup, func(t *testing.T, l *lab) { relink(t, l, "ns/net") }, false},
		"another root directory":           {sessionCgroup, func(t *testing.T, l *lab) { relink(t, l, "root") }, false},
		"a namespace that cannot be read ": {sessionCgroup, func(t *testing.T, l *lab) { require.NoError(t, os.Remove(l.machine.Path("/proc/1/ns/mnt"))) }, false},
	} {
		t.Run(name, func(t *testing.T) {
			l := newLab(t)
			l.Put(t, "proc/self/cgroup", c.cgroup)
			if c.prior != nil {
				c.prior(t, l)
			}
			assert.Equal(t, c.want, inSession(l.machine))
		})
	}
}

func relink(t *testing.T, l *lab, link string) {
	t.Helper()
	path := l.machine.Path("/proc/self/" + link)
	require.NoError(t, os.Remove(path))
	require.NoError(t, os.Symlink("other", path))
}

func TestHistory(t *testing.T) {
	for name, c := range map[string]struct {
		parts []string
		want  string
	}{
		"plain":                {[]string{"a\n", "b"}, "a\nb"},
		"redrawn":              {[]string{"a\nbar 1\nbar 2\n\x1b[2A\x1b[Jbar 1!\nbar 2!\n"}, "a\nbar 1!\nbar 2!\n"},
		"in parts":             {[]string{"a\nbar\n\x1b", "[1", "A\x1b[", "Jb", "ar!\n"}, "a\nbar!\n"},
		"many times":           {[]string{"a\nbar\n", "\x1b[1A\x1b[Jbar\n", "\x1b[1A\x1b[Jb\nbar\n", "\x1b[1A\x1b[J"}, "a\nb\n"},
		"more lines than are":  {[]string{"a\n\x1b[99A\x1b[Jb\n"}, "b\n"},
		"an unfinished line":   {[]string{"a\nb\nc\x1b[1A\x1b[Jd\n"}, "a\nd\n"},
		"another sequence":     {[]string{"a\n\x1b[1;31mb\x1b[0m\n"}, "a\n\x1b[1;31mb\x1b[0m\n"},
		"a number that is odd": {[]string{"a\n\x1b[99999A\x1b[J"}, "a\n\x1b[99999A\x1b[J"},
	} {
		t.Run(name, func(t *testing.T) {
			var h history
			for _, p := range c.parts {
				h.add([]byte(p))
			}
			assert.Equal(t, c.want, string(h.text))
		})
	}
}

func TestHistoryIsBounded(t *testing.T) {
	var h history
	line := strings.Repeat("x", 99) + "\n"
	for range 20 * maxHistory / len(line) {
		h.add([]byte(line))
		require.LessOrEqual(t, len(h.text), 2*maxHistory+len(line))
	}
	assert.Zero(t, len(h.text)%len(line), "it begins with a whole line")
	h.add(bytes.Repeat([]byte("x"), 3*maxHistory))
	assert.LessOrEqual(t, len(h.text), maxHistory)
}

// TestOddFrames: a unit ends the connection of a client that sends none of its frames, and goes on.
func TestOddFrames(t *testing.T) {
	l := newLab(t)
	c := script(`echo begun; while [ ! -e go ]; do sleep 0.05; done`)
	l.leaves(t, c, "begun")
	for name, sent := range map[string]string{
		"too large":          "s\xff\xff\xff\xff",
		"no JSON":            "s\x00\x00\x00\x01x",
		"no arguments":       "s\x00\x00\x00\x02{}",
		"unknown":            "?\x00\x00\x00\x00",
		"a second start":     "s\x00\x00\x00\x0e{\"Args\":[\"x\"]}",
		"a drop too early":   "d\x00\x00\x00\x00",
		"cut off":            "s\x00\x00",
		"a size that is odd": "a\x00\x00\x00\x0d{\"Rows\":70000}",
	} {
		conn, err := net.Dial("unix", socketOf(l.machine, "install"))
		require.NoError(t, err, name)
		_, err = conn.Write([]byte(sent))
		require.NoError(t, err, name)
		require.NoError(t, conn.(*net.UnixConn).CloseWrite(), name)
		for err == nil {
			_, err = readFrame(conn)
		}
		conn.Close()
	}
	require.NoError(t, os.WriteFile(l.dir+"/go", nil, 0o600))
	l.runs(t, c, 0)
}

func TestSocketIsForRoot(t *testing.T) {
	l := newLab(t)
	l.Put(t, "run/airgap-run/old", "") // a directory that others can read
	l.leaves(t, script("echo begun; sleep 0.2"), "begun")
	info, err := os.Stat(l.machine.Path(runDir))
	require.NoError(t, err)
	assert.Equal(t, os.FileMode(0o700), info.Mode().Perm())
}

func TestCommandLine(t *testing.T) {
	assert.Equal(t, `airgap install /mnt/usb/bank --skip 'a b' '' 'it'\''s'`, commandLine([]string{"install", "/mnt/usb/bank", "--skip", "a b", "", "it's"}))
}
