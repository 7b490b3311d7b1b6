package kubeadm

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/yaml"

	"airgap.dev/airgap/internal/host/hosttest"
	"airgap.dev/airgap/kubeadm/node"
	"airgap.dev/airgap/kubeadm/runtime"
)

// with is a section that sets one argument of a program.
func with(t *testing.T, part node.Part, name, value string) Config {
	t.Helper()
	args := fmt.Sprintf("{extraArgs: [{name: %s, value: %q}]}", name, value)
	if part == node.Etcd {
		args = "{local: " + args + "}"
	}
	return section(t, fmt.Sprintf("{version: 1.36.3, overrides: {clusterConfiguration: {%s: %s}}}", sectionOf(part), args))
}

// TestBans: the build of a bundle refuses an argument that makes the cluster insecure or
// breaks it, with the reason.
func TestBans(t *testing.T) {
	for _, tc := range []struct {
		part        node.Part
		name, value string
		want        string // "": accepted
	}{
		{node.APIServer, "anonymous-auth", "true", "without credentials at every path"},
		{node.APIServer, "anonymous-auth", "False", "restart it indefinitely"},
		{node.APIServer, "authorization-mode", "AlwaysAllow", "allows every request"},
		{node.APIServer, "authorization-mode", "Node,RBAC,AlwaysAllow", "allows every request"},
		{node.APIServer, "authorization-mode", "RBAC", "name both"},
		{node.APIServer, "authorization-mode", "Node,Webhook,RBAC", ""},
		{node.APIServer, "token-auth-file", "/t", "never expire"},
		{node.APIServer, "service-account-lookup", "0", "deleted accounts"},
		{node.APIServer, "disable-admission-plugins", "PodSecurity,NodeRestriction", "protection depends"},
		{node.APIServer, "disable-admission-plugins", "DefaultIngressClass", ""},
		{node.APIServer, "enable-admission-plugins", "AlwaysPullImages", ""},
		{node.APIServer, "enable-admission-plugins", "AlwaysDeny", "refuses every request"},
		{node.APIServer, "authentication-config", "/x", "kubernetes.authentication"},
		{node.APIServer, "audit-policy-file", "/x", "kubernetes.audit.policy"},
		{node.APIServer, "encryption-provider-config", "/x", "encryptionAtRest: none"},
		{node.APIServer, "oidc-issuer-url", "https://sso.bank", "kubernetes.authentication.jwt, issuer.url"},
		{node.APIServer, "oidc-groups-claim", "groups", "claimMappings.groups.claim"},
		{node.APIServer, "kubelet-certificate-authority", "/x", "logs and exec"},
		{node.APIServer, "tls-min-version", "VersionTLS10", "broken"},
		{node.APIServer, "tls-min-version", "VersionTLS13", ""},
		{node.APIServer, "anonymous_auth", "true", "write it as anonymous-auth"},
		{node.APIServer, "profiling", "true", ""},
		{node.APIServer, "runtime-config", "api/beta=true,admissionregistration.k8s.io/v1=0", "admission policies"},
		{node.APIServer, "runtime-config", "api/all=false", "admission policies"},
		{node.APIServer, "runtime-config", "api/alpha=true", ""},
		{node.Etcd, "listen-client-http-urls", "http://0.0.0.0:2380", "through TLS"},
		{node.Etcd, "listen-client-http-urls", "http://127.0.0.1:2380", ""},
		{node.APIServer, "feature-gates", "AllAlpha=false,kube:AllBeta=false", ""},
		{node.ControllerManager, "authorization-always-allow-paths", "/healthz,/*", "allow every request at these paths"},
		{node.ControllerManager, "use-service-account-credentials", "false", "the rights of all controllers"},
		{node.ControllerManager, "bind-address", "0.0.0.0", ""},
		{node.Etcd, "client-cert-auth", "false", "read and write everything"},
		{node.Etcd, "peer-client-cert-auth", "f", "become a member"},
		{node.Etcd, "auto-tls", "true", "proves no identity"},
		{node.Etcd, "listen-metrics-urls", "http://127.0.0.1:2381,http://0.0.0.0:2381", "listen on 127.0.0.1"},
		{node.Etcd, "listen-metrics-urls", "http://127.0.0.1:2381", ""},
		{node.Etcd, "listen-client-urls", "http://10.0.0.1:2379", "through TLS"},
		{node.Etcd, "quota-backend-bytes", "1", ""},
	} {
		errs := with(t, tc.part, tc.name, tc.value).Validate(field.NewPath("kubernetes"))
		switch {
		case tc.want == "" && len(errs) > 0:
			t.Errorf("%s %s=%s: %v", tc.part, tc.name, tc.value, errs)
		case tc.want != "" && (len(errs) != 1 || !strings.Contains(errs[0].Error(), tc.want) || !strings.Contains(errs[0].Field, "extraArgs[0]")):
			t.Errorf("%s %s=%s: got %v, want one error with %q", tc.part, tc.name, tc.value, errs, tc.want)
		}
		if errs := with(t, tc.part, tc.name, tc.value).ValidateStored(nil); len(errs) > 0 {
			t.Errorf("%s %s=%s: ValidateStored got %v, want no error", tc.part, tc.name, tc.value, errs)
		}
	}
}

// overriding is a section with these overrides as YAML.
func overriding(overrides string) string { return `{version: 1.36.3, overrides: {` + overrides + `}}` }

// trusting is a section with the token issuer https://sso and more fields of it as YAML.
func trusting(more string) string {
	return `{version: 1.36.3, authentication: {jwt: [{issuer: {url: "https://sso", audiences: [k]}, ` + more + `}]}}`
}

func TestBansElsewhere(t *testing.T) {
	for name, tc := range map[string]struct {
		section string
		want    []string
	}{
		"kubelet": {
			overriding(`kubelet: {authentication: {anonymous: {enabled: true}}, authorization: {mode: AlwaysAllow}, readOnlyPort: 10255, tlsMinVersion: VersionTLS11}`),
			[]string{
				"kubelet.authentication.anonymous.enabled: Forbidden",
				"kubelet.authorization.mode: Forbidden",
				"kubelet.readOnlyPort: Forbidden",
				"kubelet.tlsMinVersion: Forbidden",
			},
		},
		"kubelet, other fields": {
			overriding(`kubelet: {authentication: {x509: {clientCAFile: /etc/pki/other.crt}}, staticPodURL: "https://x", staticPodPath: "", enableServer: false}`),
			[]string{
				"kubelet.authentication.x509.clientCAFile: Forbidden",
				"kubelet.staticPodURL: Forbidden",
				"kubelet.staticPodPath: Forbidden",
				"kubelet.enableServer: Forbidden",
			},
		},
		"other places": {
			overriding(`clusterConfiguration: {certificatesDir: /x, etcd: {external: {endpoints: ["https://10.0.0.9:2379"]}}}`),
			[]string{"clusterConfiguration.certificatesDir: Forbidden", "clusterConfiguration.etcd.external: Forbidden"},
		},
		"kubelet, allowed values": {overriding(`kubelet: {authentication: {anonymous: {enabled: false}}, authorization: {mode: Webhook}, readOnlyPort: 0}`), nil},
		"signed kubelets": {overriding(`kubelet: {serverTLSBootstrap: true}, ` +
			`clusterConfiguration: {apiServer: {extraArgs: [{name: kubelet-certificate-authority, value: /x}]}}`), nil},
		"a site's own KMS": {`{version: 1.36.3, encryptionAtRest: none, ` +
			`overrides: {clusterConfiguration: {apiServer: {extraArgs: [{name: encryption-provider-config, value: /x}]}}}}`, nil},
		"names that airgap uses": {
			overriding(`clusterConfiguration: {apiServer: {` +
				`extraVolumes: [{name: airgap, hostPath: /x, mountPath: /x}, {name: mine, hostPath: /x, mountPath: /etc/kubernetes/apiserver}], ` +
				`extraEnvs: [{name: AIRGAP_AUDIT_POLICY, value: x}]}}`),
			[]string{"extraVolumes[0].name", "extraVolumes[1].mountPath", "extraEnvs[0].name"},
		},
		"a policy that logs nothing": {
			`{version: 1.36.3, audit: {policy: {rules: [{level: None, users: [a]}, {level: None}, {level: Metadata}]}}}`,
			[]string{"audit.policy.rules: Forbidden: these rules log nothing"},
		},
		"a policy with exceptions": {`{version: 1.36.3, audit: {policy: {rules: [{level: None, users: [a]}, {level: Metadata}]}}}`, nil},
		"an issuer without required fields": {
			`{version: 1.36.3, authentication: {jwt: [{issuer: {url: "http://sso", certificateAuthority: /etc/ca.crt}}]}}`,
			[]string{"jwt[0].issuer.url", "jwt[0].issuer.audiences", "jwt[0].issuer.certificateAuthority", "jwt[0].claimMappings.username: Required"},
		},
		"a user prefix of Kubernetes": {trusting(`claimMappings: {username: {claim: sub, prefix: "system:"}}`), []string{"username.prefix"}},
		"a group prefix of Kubernetes": {
			trusting(`claimMappings: {username: {claim: sub, prefix: "sys"}, groups: {claim: groups, prefix: ""}}`),
			[]string{"username.prefix", "groups.prefix"},
		},
		"groups without a prefix": {
			trusting(`claimMappings: {username: {claim: sub, prefix: "sso:"}, groups: {claim: groups}}`),
			[]string{"groups.prefix: Required"},
		},
		"a rule about names": {trusting(`claimMappings: {username: {claim: sub, prefix: ""}, groups: {claim: groups, prefix: ""}}, ` +
			`userValidationRules: [{expression: "!user.username.startsWith('system:') && user.groups.all(g, !g.startsWith('system:'))", message: no}]`), nil},
		"an issuer twice": {`{version: 1.36.3, authentication: {jwt: [` + ssoIssuer + `, ` + ssoIssuer + `]}}`, []string{"jwt[1].issuer.url: Duplicate"}},
	} {
		t.Run(name, func(t *testing.T) {
			hosttest.Compare(t, section(t, tc.section).Validate(field.NewPath("kubernetes")), tc.want)
		})
	}
}

const ssoIssuer = `{issuer: {url: "https://sso.bank.example", audiences: [kubernetes]}, claimMappings: {username: {claim: email, prefix: "sso:"}, groups: {claim: groups, prefix: "sso:"}}}`

// TestListsAreJoined: a site's list does not replace the elements that the cluster needs.
func TestListsAreJoined(t *testing.T) {
	c := section(t, `
version: 1.36.3
overrides:
  clusterConfiguration:
    apiServer:
      certSANs: [k8s.bank.example, 127.0.0.1]
      extraArgs: [{name: enable-admission-plugins, value: "AlwaysPullImages,NodeRestriction"}, {name: enable-admission-plugins, value: DenyServiceExternalIPs}]
`)
	merged := cluster(c, Node{Name: "cp1", Address: "192.0.2.11"})
	sans := merged["apiServer"].(map[string]any)["certSANs"].([]any)
	if want := []any{"127.0.0.1", "192.0.2.11", "cp1", "localhost", "k8s.bank.example"}; !slices.Equal(sans, want) {
		t.Errorf("certSANs: %v, want %v", sans, want)
	}
	plugins := valuesOf(argumentsOf(merged, node.APIServer), pluginsArg)
	if want := []string{"NodeRestriction,AlwaysPullImages,DenyServiceExternalIPs"}; !slices.Equal(plugins, want) {
		t.Errorf("admission plugins: %q, want %q", plugins, want)
	}
	text, err := InitDocuments(c, Node{Name: "cp1", Address: "192.0.2.11"}, runtime.Facts{OS: "el9", Driver: runtime.Systemd})
	if err != nil {
		t.Fatal(err)
	}
	acceptedByKubeadm(t, text)
}

// TestIssuersKeepTheAnonymousRule: OIDC does not change the paths that are allowed without
// credentials.
func TestIssuersKeepTheAnonymousRule(t *testing.T) {
	c := section(t, `{version: 1.36.3, authentication: {jwt: [`+ssoIssuer+`]}}`)
	files, err := apiServerFiles(c)
	if err != nil {
		t.Fatal(err)
	}
	plain := decoded(t, anonymousRule)
	var got map[string]any
	if err := yaml.UnmarshalStrict(files[authenticationFile], &got); err != nil {
		t.Fatal(err)
	}
	if fmt.Sprint(got["anonymous"]) != fmt.Sprint(plain["anonymous"]) || len(got["jwt"].([]any)) != 1 {
		t.Errorf("got the authentication file\n%s", files[authenticationFile])
	}
	if args := valuesOf(argumentsOf(cluster(c, Node{}), node.APIServer), "authentication-config"); !slices.Equal(args, []string{authenticationFile}) {
		t.Errorf("got authentication-config %q, want %s", args, authenticationFile)
	}
}
