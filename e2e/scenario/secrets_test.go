package scenario

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"strings"
	"testing"

	"airgap.dev/airgap/e2e/lab"
	"airgap.dev/airgap/e2e/secrets"
)

// TestGuard leaks a token on a server in every possible way. The guard must report each leak
// and nothing else. No message may contain the token.
func TestGuard(t *testing.T) {
	if os.Getenv("AIRGAP_LAB") == "" {
		t.Skip("boots servers: set AIRGAP_LAB=1 as root")
	}
	cache, err := lab.CacheDir()
	if err != nil {
		t.Fatal(err)
	}
	const code = "zyxwvu.9876543210zyxwvu"
	for name, leak := range map[string]struct {
		script string // read from stdin, so that it is not an argument
		want   string // "" if the place is allowed
	}{
		"nothing":      {"true", ""},
		"a kubeconfig": {"mkdir -p /etc/kubernetes; (umask 077; echo 'token: CODE' >/etc/kubernetes/bootstrap-kubelet.conf)", ""},
		"a kubeconfig, open": {
			"mkdir -p /etc/kubernetes; echo 'token: CODE' >/etc/kubernetes/bootstrap-kubelet.conf",
			"node1:/etc/kubernetes/bootstrap-kubelet.conf has join token (planted): mode 0644",
		},
		"a log":                   {"mkdir -p /var/log/airgap; echo 'join CODE' >>/var/log/airgap/x.log", "node1:/var/log/airgap/x.log"},
		"a file in memory":        {"echo CODE >/run/left", "node1:/run/left"},
		"where fapolicyd guards":  {fapolicyd + "echo CODE >/run/left", "node1:/run/left"},
		"a temporary file":        {"echo CODE >/tmp/.left", "node1:/tmp/.left"},
		"etcd":                    {"mkdir -p /var/lib/etcd/member; (umask 077; echo CODE >/var/lib/etcd/member/db)", "node1:/var/lib/etcd/member/db"},
		"base64 in the container": {"echo CODE | base64 >/var/lib/containerd/x", "node1:/var/lib/containerd/x"},
		"the journal":             {"echo it is CODE | logger", "node1: journal"},
		"an argument":             {"/bin/true --token CODE", "node1: argument of true"},
		"a variable":              {"T=CODE /bin/true", "node1: environment of true"},
		"a service's argument":    {"systemd-run -q --wait true --token CODE", "node1: argument of true"},
		"stdout":                  {"echo CODE", "stdout of node1: bash -s"},
		"a key that nobody noted": {"openssl ecparam -genkey -name prime256v1 -noout -out /etc/made.key; chmod 600 /etc/made.key", "node1:/etc/made.key has private key (unknown key)"},
		"a file others may write": {"mkdir -p /var/lib/airgap; chmod 777 /var/lib/airgap", "node1:/var/lib/airgap: mode 0777 lets others write"},
	} {
		t.Run(name, func(t *testing.T) {
			var log bytes.Buffer
			e := &Env{Cache: cache, Work: t.TempDir(), Log: &log, run: "guard", Book: &secrets.Book{}}
			if err := e.Book.Add(secrets.Code, "planted", code); err != nil {
				t.Fatal(err)
			}
			err := e.WithServers(t.Context(), 1, func(l *lab.Lab) error { return findLeak(t.Context(), e, l.Machines[0], leak.script, code) })
			t.Log(log.String())
			message := fmt.Sprint(err)
			switch {
			case strings.Contains(message, code):
				t.Errorf("the message contains the token: %s", message)
			case leak.want == "" && err != nil, leak.want != "" && !strings.Contains(message, leak.want):
				t.Errorf("got %v, want %q", err, leak.want)
			}
		})
	}
}

// TestGuardInside is TestGuard for an emulated machine, with all leaks at once.
func TestGuardInside(t *testing.T) {
	if os.Getenv("AIRGAP_LAB") == "" {
		t.Skip("boots servers: set AIRGAP_LAB=1 as root")
	}
	cache, err := lab.CacheDir()
	if err != nil {
		t.Fatal(err)
	}
	const code = "zyxwvu.9876543210zyxwvu"
	e := &Env{Cache: cache, Work: t.TempDir(), Log: t.Output(), run: "guard-inside", Book: &secrets.Book{}}
	if err := e.Book.Add(secrets.Code, "planted", code); err != nil {
		t.Fatal(err)
	}
	const script = `mkdir -p /var/log/airgap /etc/airgap/pki; chmod 775 /var/log/airgap; echo CODE >/var/log/airgap/x.log; echo CODE >/run/left
openssl ecparam -genkey -name prime256v1 -noout -out /etc/airgap/pki/ca.key; cp /etc/airgap/pki/ca.key /tmp/copy; chmod 640 /etc/airgap/pki/ca.key
T=CODE sleep 1000 >/dev/null 2>&1 &`
	err = e.WithServersOf(t.Context(), lab.KindEmulated.Times(1), func(l *lab.Lab) error { return findLeak(t.Context(), e, l.Machines[0], script, code) })
	for _, want := range []string{
		"node1: environment of sleep has join token (planted)", "node1:/run/left has", "node1:/var/log/airgap/x.log has", "/var/log/airgap: mode 0775",
		"node1:/etc/airgap/pki/ca.key has private key (node1:/etc/airgap/pki/ca.key): mode 0640", "node1:/tmp/copy has private key (node1:/etc/airgap/pki/ca.key): no rule allows it",
	} {
		if !strings.Contains(fmt.Sprint(err), want) {
			t.Errorf("got %v, want %q in it", err, want)
		}
	}
	if strings.Contains(fmt.Sprint(err), code) {
		t.Error("the message contains the token")
	}
}

// fapolicyd starts fapolicyd with rules that deny all reads from outside. Its unit may be
// active a moment before the rules apply.
const fapolicyd = `printf 'allow perm=execute all : dir=/usr/\nallow perm=open all : all\n' >/etc/fapolicyd/rules.d/10-lab.rules
sed -i 's/^uid = .*/uid = root/; s/^gid = .*/gid = root/; s/^trust = .*/trust = file/; s/^watch_fs = .*/&,overlay/; s/^do_stat_report = .*/do_stat_report = 0/' /etc/fapolicyd/fapolicyd.conf
chown -R root: /var/lib/fapolicyd && systemctl start fapolicyd || exit
mkdir /opt/bank && cp /usr/bin/true /opt/bank/true || exit
i=0; while /opt/bank/true; do i=$((i+1)); [ $i -lt 50 ] || exit 1; sleep 0.2; done
`

func findLeak(ctx context.Context, e *Env, m lab.Machine, script, code string) error {
	r, err := e.On(ctx, m, strings.ReplaceAll(script, "CODE", code)+"\n", "bash", "-s")
	if err != nil {
		return err
	}
	return r.Want("leak", 0)
}
