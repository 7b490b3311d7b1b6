package fleet

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/crypto/ssh"

	"airgap.dev/airgap/cluster/hostcheck"
	"airgap.dev/airgap/cluster/join"
	"airgap.dev/airgap/cluster/sitetest"
	"airgap.dev/airgap/internal/exitcode"
	"airgap.dev/airgap/internal/host"
	"airgap.dev/airgap/internal/remote/sshtest"
	"airgap.dev/airgap/internal/ui"
	"airgap.dev/airgap/kubeadm"
	"airgap.dev/airgap/kubeadm/kube"
	"airgap.dev/airgap/kubeadm/leave"
	"airgap.dev/airgap/registry/trust"
)

// codeAPI is a fake API server for join tokens. It records which tokens are created and deleted.
type codeAPI struct {
	made         atomic.Int32
	mu           sync.Mutex
	gone         []string
	hangsAtFirst bool // it never answers the first deletion
	nodes        string
}

func (a *codeAPI) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	_, _ = io.Copy(io.Discard, r.Body) // otherwise the server does not notice that the client closed the connection
	switch name := path.Base(r.URL.Path); {
	case r.Method == http.MethodDelete:
		if a.deleted(name) {
			<-r.Context().Done()
		}
		fmt.Fprint(w, `{"apiVersion":"v1","kind":"Status","status":"Success"}`)
	case name == "nodes" && a.nodes != "":
		fmt.Fprint(w, a.nodes)
	case name == "secrets":
		a.made.Add(1)
		fmt.Fprint(w, `{"apiVersion":"v1","kind":"Secret"}`)
	case name == "roles":
		fmt.Fprint(w, `{"apiVersion":"rbac.authorization.k8s.io/v1","kind":"Role"}`)
	default:
		fmt.Fprint(w, `{"apiVersion":"rbac.authorization.k8s.io/v1","kind":"RoleBinding"}`)
	}
}

func (a *codeAPI) deleted(name string) (hang bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.gone = append(a.gone, name)
	return a.hangsAtFirst && len(a.gone) == 1
}

func (a *codeAPI) revoked() []string {
	a.mu.Lock()
	defer a.mu.Unlock()
	return slices.Clone(a.gone)
}

// enrolling returns a fleet with one connected host, and the fake API server that creates its join tokens.
func enrolling(t *testing.T) (*Fleet, *Member, *sshtest.Server, *codeAPI) {
	t.Helper()
	key := sshtest.NewKey(t)
	s := sshtest.Serve(t, sshtest.AllowAll, key)
	s.Root(t)
	f := fleetOf(t, nil, s)
	m := f.Members[0]
	m.host.HostKey = ssh.FingerprintSHA256(key.PublicKey())
	if err := f.enter(t.Context(), m); err != nil {
		t.Fatal(err)
	}
	api := &codeAPI{}
	server := httptest.NewServer(api)
	t.Cleanup(server.Close)
	f.site.Machine = kubeadm.Machine{Member: leave.Member{Machine: host.Machine{Host: host.Local{}, Root: t.TempDir()}}}
	conf := sitetest.Kubeconfig(server.URL)
	ca, _, err := trust.NewAuthority(time.Now())
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string][]byte{kube.AdminConf: []byte(conf), kube.ClusterCA: ca} {
		if err := host.WriteFile(filepath.Join(f.site.Machine.Root, name), text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return f, m, s, api
}

// TestBusyHostKeepsItsCode: a busy host did not read its join token, so the next attempt uses the same one. After
// any other failure the token may be used, so the next attempt gets a new one.
func TestBusyHostKeepsItsCode(t *testing.T) {
	f, m, s, api := enrolling(t)
	try := func(script string, want int32) error {
		t.Helper()
		s.Program(t, "airgap", script)
		var run RemoteRun
		err := f.runWithToken(t.Context(), m, &run, "join")
		if made := api.made.Load(); made != want {
			t.Errorf("%d join tokens were created, want %d", made, want)
		}
		return err
	}
	const busy = "echo 'airgap: error: another airgap command is changing this host' >&2; exit 1"
	for range 4 {
		if err := try(busy, 1); !stillBusy(err) {
			t.Fatalf("got %v", err)
		}
	}
	first := m.codes[0].Reveal()
	if err := try("read -r code; echo airgap: error: got $code >&2; exit 1", 1); err == nil || err.Error() != "got "+first {
		t.Errorf("got %v, want the first join token", err)
	}
	if err := try("read -r code; test $code != "+first, 2); err != nil {
		t.Errorf("the first join token is used again: %v", err)
	}
	f.revoke(t.Context(), m)
	if gone := api.revoked(); len(gone) != 2 || gone[0] == gone[1] || m.codes != nil {
		t.Errorf("revoked: %v", gone)
	}
	if strings.Contains(s.Asked(), first) {
		t.Errorf("a join token is in a command line:\n%s", s.Asked())
	}
}

// TestEachCodeIsRevoked: if the API server does not answer the first revocation, the other join tokens are still
// revoked.
func TestEachCodeIsRevoked(t *testing.T) {
	t.Parallel() // it waits for revokeTimeout
	f, m, _, api := enrolling(t)
	api.hangsAtFirst = true
	for range 3 {
		code, _, err := join.NewToken(t.Context(), f.site, m.Node, m.log.note)
		if err != nil {
			t.Fatal(err)
		}
		m.codes = append(m.codes, code)
	}
	began := time.Now()
	f.revoke(t.Context(), m)
	if gone := api.revoked(); len(gone) != 3 || time.Since(began) > 2*revokeTimeout {
		t.Errorf("revoked in %s: %v", time.Since(began), gone)
	}
}

// TestLostBeforeRoot: if the connection is lost between login and sudo, the next attempt connects again.
func TestLostBeforeRoot(t *testing.T) {
	f, m, s, _ := enrolling(t)
	s.Cut()
	if err := f.enter(t.Context(), m); err == nil {
		t.Fatal("became root over a closed connection")
	}
	if err := f.enter(t.Context(), m); err != nil {
		t.Errorf("the second attempt: %v", err)
	}
}

// TestHostDoesNotComeBack: comeBack returns an error if the host does not answer in time.
func TestHostDoesNotComeBack(t *testing.T) {
	t.Parallel() // it waits for knockAgain
	f, m, _, _ := enrolling(t)
	m.host.Port = 1 // no process listens on it
	err := f.comeBack(t.Context(), m, ui.Discard().Host("w1"), true, time.Now())
	if err == nil || !strings.Contains(err.Error(), "wait "+patience.String()+" for the host to come back: ") || !strings.Contains(err.Error(), "refused") {
		t.Errorf("got %v", err)
	}
}

// TestLeftAtWork: an upgrade waits for a command that an interrupted upgrade left running. Other commands fail
// immediately on a busy host.
func TestLeftAtWork(t *testing.T) {
	t.Parallel() // it waits for knockAgain
	f, m, _, _ := enrolling(t)
	for _, awaits := range []bool{false, true} {
		f.awaitsBusy = awaits
		tries := 0
		err := f.UntilDone(t.Context(), m, ui.Discard().Host("w1"), func() error {
			if tries++; tries > 1 {
				return nil
			}
			return &remoteError{code: exitcode.Failed, text: hostcheck.ErrBusy.Error()}
		})
		if awaits != (err == nil) || !awaits && !stillBusy(err) {
			t.Errorf("waits: %t, %d tries, got %v", awaits, tries, err)
		}
	}
}
