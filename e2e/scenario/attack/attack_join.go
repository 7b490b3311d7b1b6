package attack

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
	"strings"
	"time"

	"airgap.dev/airgap/e2e/lab"
	"airgap.dev/airgap/e2e/scenario"
	"airgap.dev/airgap/e2e/scenario/certs"
)

// attackJoin plays items 3 and 5: a join token that is used for another name, twice, or with
// extra SANs; and a registry that leads to a foreign cluster.
func attackJoin(ctx context.Context, e *scenario.Env, t target) []scenario.Part {
	return []scenario.Part{
		{Title: "a join token asks for other certificates", Run: func() error { return otherCertificates(ctx, e, t) }},
		{Title: "kubeadm's automatic approval of nodes is restored", Run: func() error { return autoApproval(ctx, e, t.first) }},
		{Title: "a registry leads to a foreign cluster", Run: func() error { return foreignCluster(ctx, e, t) }},
		{Title: "a stolen join token, used twice", Run: func() error { return tokenTwice(ctx, e, t) }},
	}
}

// thief has a join token and the address of the API server.
type thief struct {
	e  *scenario.Env
	on lab.Machine // has kubectl
}

const thiefConfig = "/run/thief.conf"

func thiefOf(ctx context.Context, e *scenario.Env, t target) (thief, scenario.JoinLine, error) {
	line, err := e.JoinLine(ctx, t.first, t.second.Name())
	parts := strings.Split(line.Code, ".")
	if err == nil && len(parts) != 3 {
		err = fmt.Errorf("the join token of a worker has %d parts, want 3", len(parts))
	}
	if err != nil {
		return thief{}, line, err
	}
	// In a file: every local user can read the arguments of a process.
	config := fmt.Sprintf(`{"apiVersion":"v1","kind":"Config","current-context":"x",
"clusters":[{"name":"c","cluster":{"server":"https://%s:6443","certificate-authority":%q}}],
"users":[{"name":"u","user":{"token":%q}}],"contexts":[{"name":"x","context":{"cluster":"c","user":"u"}}]}`, t.first.Addr(), certs.ClusterCA, parts[0]+"."+parts[1])
	r, err := e.On(ctx, t.first, config, "sh", "-c", "umask 077; cat >"+thiefConfig)
	return thief{e, t.first}, line, errors.Join(err, r.Want("write the thief's configuration", 0))
}

// kubectl runs kubectl with the token as the only credential.
func (h thief) kubectl(ctx context.Context, stdin string, args ...string) (scenario.Result, error) {
	return h.e.On(ctx, h.on, stdin, append([]string{"kubectl", "--kubeconfig", thiefConfig}, args...)...)
}

// request requests a certificate with the token.
func (h thief) request(ctx context.Context, name string, form x509.CertificateRequest, usages ...string) error {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return err
	}
	der, err := x509.CreateCertificateRequest(rand.Reader, &form, key)
	if err != nil {
		return err
	}
	text := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE REQUEST", Bytes: der})
	object := fmt.Sprintf(`{"apiVersion":"certificates.k8s.io/v1","kind":"CertificateSigningRequest","metadata":{"name":%q},"spec":{"request":%q,"signerName":"kubernetes.io/kube-apiserver-client-kubelet","usages":["%s"]}}`,
		name, base64.StdEncoding.EncodeToString(text), strings.Join(append(usages, "digital signature", "client auth"), `","`))
	r, err := h.kubectl(ctx, object, "create", "--validate=false", "-f", "-")
	return errors.Join(err, r.Want("request "+name, 0))
}

func nodeForm(name string, sans ...string) x509.CertificateRequest {
	return x509.CertificateRequest{Subject: pkix.Name{CommonName: "system:node:" + name, Organization: []string{"system:nodes"}}, DNSNames: sans}
}

// refusedAndNamed checks that a request is denied, and that the approver's journal names it.
func refusedAndNamed(ctx context.Context, e *scenario.Env, first lab.Machine, name string) error {
	return e.Script(ctx, first,
		scenario.Retry(scenario.Kubectl+"get csr "+name+" -o jsonpath='{.status.conditions[0].type}' | grep -qx Denied"),
		scenario.Kubectl+"get csr "+name+" -o jsonpath='{.status.certificate}' | { ! grep -q .; }",
		scenario.Retry("journalctl -u airgap-join-approver -o cat | grep -q 'refused "+name+" of system:bootstrap:'"))
}

func otherCertificates(ctx context.Context, e *scenario.Env, t target) error {
	h, _, err := thiefOf(ctx, e, t)
	if err != nil {
		return err
	}
	own := t.second.Name()
	group := nodeForm(own)
	group.Subject.Organization = append(group.Subject.Organization, "system:masters")
	for name, request := range map[string]func() error{
		"attack-control-plane": func() error { return h.request(ctx, "attack-control-plane", nodeForm(t.first.Name())) },
		"attack-worker":        func() error { return h.request(ctx, "attack-worker", nodeForm(t.worker.Name())) },
		"attack-names":         func() error { return h.request(ctx, "attack-names", nodeForm(own, "kubernetes.default.svc")) },
		"attack-masters":       func() error { return h.request(ctx, "attack-masters", group) },
		"attack-server":        func() error { return h.request(ctx, "attack-server", nodeForm(own), "server auth") },
	} {
		if err := errors.Join(request(), refusedAndNamed(ctx, e, t.first, name)); err != nil {
			return err
		}
	}
	for _, resource := range []string{"secrets", "configmaps", "pods"} {
		r, err := h.kubectl(ctx, "", "get", resource, "-n", "kube-system")
		if err := errors.Join(err, r.Want("read "+resource+" with a join token", 1, "forbidden")); err != nil {
			return err
		}
	}
	if err := joinTokensBroken(ctx, e, t.first, "attack-control-plane", "a certificate of \"system:node:"+t.first.Name()+"\" was requested"); err != nil {
		return err
	}
	return requestsDeleted(ctx, e, t.first)
}

func joinTokensBroken(ctx context.Context, e *scenario.Env, first lab.Machine, words ...string) error {
	r, err := e.On(ctx, first, "", "airgap", "verify", e.Skips(), "--only", "join-tokens", "--timeout", "20s", "--soak", "2s")
	return errors.Join(err, r.Want("verify", 4, words...))
}

// requestsDeleted deletes the requests, as the operator does, and checks that the rule passes again.
func requestsDeleted(ctx context.Context, e *scenario.Env, first lab.Machine) error {
	return e.Script(ctx, first, "rm "+thiefConfig,
		scenario.Kubectl+"get csr -o name | grep -E '/(attack|airgap-join)-' | xargs env "+scenario.Kubectl+"delete",
		"airgap verify "+e.Skips()+" --only join-tokens --timeout 1m")
}

func autoApproval(ctx context.Context, e *scenario.Env, first lab.Machine) error {
	const binding = "kubeadm:node-autoapprove-bootstrap"
	return errors.Join(
		e.Script(ctx, first, scenario.IsGone("clusterrolebinding "+binding),
			scenario.Kubectl+"create clusterrolebinding "+binding+" --clusterrole system:certificates.k8s.io:certificatesigningrequests:nodeclient --group system:bootstrappers:kubeadm:default-node-token"),
		joinTokensBroken(ctx, e, first, binding),
		e.Script(ctx, first, scenario.Kubectl+"delete clusterrolebinding "+binding))
}

// foreignCluster plays an attacker that has the registry's key and makes the registry lead to
// another cluster.
func foreignCluster(ctx context.Context, e *scenario.Env, t target) error {
	const material = "/var/lib/airgap/join/cluster.json"
	r, err := e.Must(ctx, t.first, nil, "cat", material)
	if err != nil {
		return err
	}
	var honest map[string]any
	if err := json.Unmarshal([]byte(r.Stdout), &honest); err != nil {
		return err
	}
	own, _ := honest["ca"].(string)
	ca, err := foreignCA()
	if err != nil {
		return err
	}
	if err := errors.Join(e.InstallProgram(ctx, t.second, t.stick), t.second.PullStick(ctx)); err != nil {
		return err
	}
	line, err := e.JoinLine(ctx, t.first, t.second.Name())
	if err != nil {
		return err
	}
	for _, cas := range []string{ca, own + ca} {
		text, err := json.Marshal(map[string]any{"apiServer": t.worker.Addr().String() + ":6443", "ca": cas, "kubernetesVersion": honest["kubernetesVersion"]})
		if err != nil {
			return err
		}
		w, err := e.On(ctx, t.first, string(text), "sh", "-c", "cat >"+material)
		if err := errors.Join(err, w.Want("write the foreign cluster", 0)); err != nil {
			return err
		}
		joined, err := e.On(ctx, t.second, line.Code+"\n", append([]string{"airgap"}, e.JoinArgs(line)...)...)
		err = errors.Join(err, joined.Want("join of a foreign cluster", 1, "the join token is another cluster's"))
		if err := errors.Join(err, e.Script(ctx, t.second, "! test -e /var/lib/airgap/journal.jsonl", "! test -e /var/lib/airgap/join.conf")); err != nil {
			return err
		}
	}
	w, err := e.On(ctx, t.first, r.Stdout, "sh", "-c", "cat >"+material)
	return errors.Join(err, w.Want("restore the cluster's file", 0))
}

func foreignCA() (string, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return "", err
	}
	form := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "kubernetes"}, NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}
	der, err := x509.CreateCertificate(rand.Reader, form, form, key.Public(), key)
	if err != nil {
		return "", err
	}
	var text bytes.Buffer
	err = pem.Encode(&text, &pem.Block{Type: "CERTIFICATE", Bytes: der})
	return text.String(), err
}

// tokenTwice uses a stolen token before its host does: the join of that host must fail with an
// error that reports the earlier use.
func tokenTwice(ctx context.Context, e *scenario.Env, t target) error {
	h, line, err := thiefOf(ctx, e, t)
	if err != nil {
		return err
	}
	name := t.second.Name()
	if err := h.request(ctx, "attack-faster", nodeForm(name)); err != nil {
		return err
	}
	if err := e.Script(ctx, t.first, scenario.Retry(scenario.Kubectl+"get csr attack-faster -o jsonpath='{.status.certificate}' | grep -q .")); err != nil {
		return err
	}
	if err := errors.Join(h.request(ctx, "attack-again", nodeForm(name)), refusedAndNamed(ctx, e, t.first, "attack-again")); err != nil {
		return err
	}
	r, err := e.On(ctx, t.second, line.Code+"\n", append([]string{"airgap"}, e.JoinArgs(line)...)...)
	if err := errors.Join(err, r.Want("join with a token that a thief has used", 1, "used already", "--new-token --node")); err != nil {
		return err
	}
	// API servers cache a token for ten seconds.
	if err := e.Script(ctx, t.first, "sleep 45"); err != nil {
		return err
	}
	r, err = h.kubectl(ctx, "", "get", "node", name)
	return errors.Join(err, r.Want("a used token", 1, "must be logged in"), requestsDeleted(ctx, e, t.first))
}
