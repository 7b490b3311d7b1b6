package kubeadm

import (
	"net/url"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"airgap.dev/airgap/internal/overlay"
	"airgap.dev/airgap/kubeadm/encryption"
	"airgap.dev/airgap/kubeadm/kube"
	"airgap.dev/airgap/kubeadm/node"
)

// ban is an argument with values that make the cluster insecure or break it.
type ban struct {
	part node.Part
	name string
	bad  func(value string) bool
	why  string
}

func always(string) bool { return true }

// is matches a boolean argument in every form that programs accept.
func is(want bool) func(string) bool {
	return func(value string) bool {
		b, err := strconv.ParseBool(value)
		return err == nil && b == want
	}
}

// names matches a list with one of the words.
func names(bad ...string) func(string) bool {
	return func(value string) bool {
		return slices.ContainsFunc(words([]string{value}), func(word string) bool { return slices.Contains(bad, word) })
	}
}

// withoutNodeRBAC matches authorization modes without Node or RBAC, which the cluster needs.
func withoutNodeRBAC(value string) bool {
	modes := words([]string{value})
	return !slices.Contains(modes, "AlwaysAllow") && (!slices.Contains(modes, "Node") || !slices.Contains(modes, "RBAC"))
}

// withoutPolicies matches a runtime-config that disables the default API groups or the group
// of admission policies.
func withoutPolicies(value string) bool {
	return slices.ContainsFunc(words([]string{value}), func(word string) bool {
		group, on, given := strings.Cut(word, "=")
		enabled, err := strconv.ParseBool(on)
		return given && err == nil && !enabled && (group == "api/all" || group == "api/ga" || group == "v1" || group == "admissionregistration.k8s.io/v1")
	})
}

// offHost matches addresses that other hosts can reach without a certificate.
func offHost(value string) bool {
	return slices.ContainsFunc(words([]string{value}), func(address string) bool {
		u, err := url.Parse(address)
		return err != nil || u.Scheme != "https" && u.Hostname() != "127.0.0.1" && u.Hostname() != "::1" && u.Hostname() != "localhost"
	})
}

const (
	whyOldTLS  = "TLS 1.0 and 1.1 are broken"
	whyOurFile = "airgap writes the file, and the API server reads only one: "
)

// bans lists the arguments that no site may give a control-plane program.
func bans(c Config) []ban {
	all := []ban{
		{node.APIServer, "anonymous-auth", is(true), "it would allow requests without credentials at every path, and the API server does not accept it together with airgap's rules for probes and joining hosts: leave it out"},
		{node.APIServer, "anonymous-auth", is(false), "the kubelet probes the API server without credentials and would restart it indefinitely. airgap's rules allow only probes and joining hosts: leave it out"},
		{node.APIServer, "authentication-config", always, whyOurFile + "use kubernetes.authentication"},
		{node.APIServer, "authorization-mode", names("AlwaysAllow"), "AlwaysAllow allows every request"},
		{node.APIServer, "authorization-mode", withoutNodeRBAC, "nodes and Kubernetes' components get their rights from Node and RBAC: name both"},
		{node.APIServer, "token-auth-file", always, "tokens in a file never expire: use kubernetes.authentication or service accounts"},
		{node.APIServer, "service-account-lookup", is(false), "the tokens of deleted accounts would stay valid"},
		{node.APIServer, "disable-admission-plugins", names(nodeRestriction, "ServiceAccount", "NamespaceLifecycle", "PodSecurity", "ValidatingAdmissionPolicy"), "the cluster's protection depends on these: " + nodeRestriction + ", ServiceAccount, NamespaceLifecycle, PodSecurity, ValidatingAdmissionPolicy"},
		{node.APIServer, pluginsArg, names("AlwaysDeny"), "AlwaysDeny refuses every request"},
		{node.APIServer, pluginsArg, names("AlwaysAdmit"), "AlwaysAdmit checks nothing and is for tests only"},
		{node.APIServer, "allow-privileged", is(false), "the pod network and kube-proxy are privileged pods"},
		{node.APIServer, "enable-bootstrap-token-auth", is(false), "no host could join"},
		{node.APIServer, "runtime-config", withoutPolicies, "Kubernetes' components need these groups, and so do airgap's admission policies, which bind a pod's tokens to the pod"},
		{node.APIServer, "audit-policy-file", always, whyOurFile + "use kubernetes.audit.policy"},
		{node.ControllerManager, "use-service-account-credentials", is(false), "every controller would have the rights of all controllers"},
		{node.Etcd, "client-cert-auth", is(false), "any client that reaches etcd could read and write everything"},
		{node.Etcd, "peer-client-cert-auth", is(false), "any host could become a member of etcd"},
		{node.Etcd, "auto-tls", is(true), "a self-signed certificate proves no identity"},
		{node.Etcd, "peer-auto-tls", is(true), "a self-signed certificate proves no identity"},
		{node.Etcd, "listen-metrics-urls", offHost, "etcd serves metrics without authentication: listen on 127.0.0.1"},
		{node.Etcd, "listen-client-urls", offHost, "clients must reach etcd through TLS"},
		{node.Etcd, "listen-client-http-urls", offHost, "clients must reach etcd through TLS"},
		{node.Etcd, "listen-peer-urls", offHost, "clients must reach etcd through TLS"},
		{node.Etcd, "unsafe-no-fsync", is(true), "a power cut would destroy the cluster's data"},
		{node.Etcd, "force-new-cluster", is(true), "each start would remove the other members"},
		{node.Etcd, "config-file", always, "etcd would ignore all other arguments"},
	}
	if c.EncryptionAtRest != encryption.NoEncryption {
		all = append(all, ban{node.APIServer, "encryption-provider-config", always, whyOurFile + "to use your own file for a KMS, set kubernetes.encryptionAtRest: none"})
	}
	if c.Overrides.Kubelet["serverTLSBootstrap"] != true {
		all = append(all, ban{node.APIServer, "kubelet-certificate-authority", always, "kubelets sign their serving certificates themselves: logs and exec would fail"})
	}
	for _, part := range node.StaticPods() {
		all = append(all, ban{part, "tls-min-version", names("VersionTLS10", "VersionTLS11", "TLS1.0", "TLS1.1"), whyOldTLS})
	}
	for _, part := range []node.Part{node.ControllerManager, node.Scheduler} {
		all = append(all, ban{part, "authorization-always-allow-paths", names("*", "/*", "/", "/api/*", "/apis/*"), "it would allow every request at these paths"})
	}
	return all
}

// oidcFields maps arguments of the API server to the fields that replace them.
func oidcFields() map[string]string {
	return map[string]string{
		"oidc-issuer-url": "issuer.url", "oidc-client-id": "issuer.audiences", "oidc-ca-file": "issuer.certificateAuthority with the certificate as PEM",
		"oidc-username-claim": "claimMappings.username.claim", "oidc-username-prefix": "claimMappings.username.prefix",
		"oidc-groups-claim": "claimMappings.groups.claim", "oidc-groups-prefix": "claimMappings.groups.prefix",
		"oidc-required-claim": "claimValidationRules", "oidc-signing-algs": "",
	}
}

// refuse forbids overrides that make the cluster insecure or break it.
func (c Config) refuse(at *field.Path) field.ErrorList {
	cluster := at.Child("clusterConfiguration")
	errs := c.refuseKubelet(at.Child("kubelet"))
	all := bans(c)
	for _, part := range node.StaticPods() {
		args := cluster.Child(sectionOf(part))
		if part == node.Etcd {
			args = args.Child("local")
		}
		for i, a := range c.extraArgs(part) {
			errs = append(errs, refuseArgument(args.Child("extraArgs").Index(i), part, a, all)...)
		}
	}
	variables, _ := component(c.Overrides.ClusterConfiguration, node.Etcd)["extraEnvs"].([]any)
	for i, item := range variables { // etcd also reads its arguments from variables
		if flag, is := node.EtcdFlag(overlay.NameOf(item)); is {
			errs = append(errs, refuseArgument(cluster.Child("etcd", "local", "extraEnvs").Index(i), node.Etcd, argument{flag, overlay.TextOf(item, "value")}, all)...)
		}
	}
	over := c.Overrides.ClusterConfiguration
	if dir, given := over["certificatesDir"]; given && dir != filepath.Dir(kube.ClusterCA) {
		errs = append(errs, field.Forbidden(cluster.Child("certificatesDir"), "airgap keeps the cluster's keys in "+filepath.Dir(kube.ClusterCA)))
	}
	if c.externalEtcd() {
		errs = append(errs, field.Forbidden(cluster.Child("etcd", "external"), "airgap installs, checks and backs up etcd on the control-plane hosts"))
	}
	return append(errs, c.refuseNames(cluster.Child("apiServer"))...)
}

func refuseArgument(at *field.Path, part node.Part, a argument, banned []ban) field.ErrorList {
	switch {
	case a.name == "":
		return field.ErrorList{field.Required(at.Child("name"), "an item without a name would replace airgap's arguments")}
	case strings.HasPrefix(a.name, "-"):
		return field.ErrorList{field.Invalid(at.Child("name"), a.name, "kubeadm writes the dashes: "+strings.TrimLeft(a.name, "-"))}
	case a.name != strings.ReplaceAll(a.name, "_", "-"):
		return field.ErrorList{field.Invalid(at.Child("name"), a.name, "write it as "+strings.ReplaceAll(a.name, "_", "-"))}
	}
	if to, is := oidcFields()[a.name]; is && part == node.APIServer {
		why := "the API server does not accept it together with airgap's rules for requests without credentials: use kubernetes.authentication.jwt"
		if to != "" {
			why += ", " + to
		}
		return field.ErrorList{field.Forbidden(at, a.name+": "+why)}
	}
	var errs field.ErrorList
	for _, r := range banned {
		if r.part == part && r.name == a.name && r.bad(a.value) {
			errs = append(errs, field.Forbidden(at, a.name+"="+a.value+": "+r.why))
		}
	}
	return errs
}

// kubeletBans lists the kubelet fields with values that no site may set.
func kubeletBans() []ban {
	return []ban{
		{node.Kubelet, "authentication.anonymous.enabled", is(true), "any client that reaches the kubelet could run commands in its pods"},
		{node.Kubelet, "authorization.mode", func(v string) bool { return v != "Webhook" }, "the API server must authorize commands in the node's pods: set Webhook"},
		{node.Kubelet, "authentication.x509.clientCAFile", func(v string) bool { return v != kube.ClusterCA }, "any client with a certificate of that CA could run commands in the node's pods: set " + kube.ClusterCA},
		{node.Kubelet, "staticPodURL", always, "the kubelet would run every pod from that address as root"},
		{node.Kubelet, "staticPodPath", func(v string) bool { return strings.TrimRight(v, "/") != node.ManifestsDir }, "the control plane's pods are in " + node.ManifestsDir},
		{node.Kubelet, "enableServer", is(false), "logs and exec would fail, and airgap compliance could not read the kubelet's configuration"},
		{node.Kubelet, "readOnlyPort", func(v string) bool { return v != "0" }, "the port shows the pods without authentication"},
		{node.Kubelet, "tlsMinVersion", names("VersionTLS10", "VersionTLS11"), whyOldTLS},
	}
}

// banned reports whether a ban forbids this value of a Control.
func banned(c Config, control Control, value string) bool {
	return slices.ContainsFunc(append(bans(c), kubeletBans()...), func(b ban) bool {
		return b.part == control.Part && b.name == control.Name && b.bad(value)
	})
}

// refuseKubelet forbids kubelet fields. They contain no secrets.
func (c Config) refuseKubelet(at *field.Path) field.ErrorList {
	var errs field.ErrorList
	for _, r := range kubeletBans() {
		path := strings.Split(r.name, ".")
		if value := lookup(c.Overrides.Kubelet, path); value != nil && r.bad(text(value)) {
			errs = append(errs, field.Forbidden(at.Child(path[0], path[1:]...), r.why))
		}
	}
	return errs
}

// refuseNames forbids volumes and variables of the API server with the names that airgap uses.
func (c Config) refuseNames(at *field.Path) field.ErrorList {
	server := component(c.Overrides.ClusterConfiguration, node.APIServer)
	errs := refuseTaken(at.Child("extraVolumes"), server["extraVolumes"], apiServerVolumes(c))
	return append(errs, refuseTaken(at.Child("extraEnvs"), server["extraEnvs"], policyEnv(c))...)
}

func refuseTaken(at *field.Path, theirs any, ours []any) field.ErrorList {
	var errs field.ErrorList
	list, _ := theirs.([]any)
	for i, item := range list {
		if overlay.NameOf(item) == "" {
			errs = append(errs, field.Required(at.Index(i).Child("name"), "an item without a name would replace airgap's items"))
		}
		for _, key := range []string{"name", "mountPath"} {
			taken := overlay.TextOf(item, key)
			if taken != "" && slices.ContainsFunc(ours, func(own any) bool { return overlay.TextOf(own, key) == taken }) {
				errs = append(errs, field.Invalid(at.Index(i).Child(key), taken, "airgap uses it: choose another one"))
			}
		}
	}
	return errs
}
