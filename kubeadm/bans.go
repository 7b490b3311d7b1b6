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

// ban is an argument that opens the cluster, or from which it breaks.
type ban struct {
	part node.Part
	name string
	bad  func(value string) bool
	why  string
}

func always(string) bool { return true }

// is matches a boolean argument, in every form that programs read.
func is(want bool) func(string) bool {
	return func(value string) bool {
		b, err := strconv.ParseBool(value)
		return err == nil && b == want
	}
}

// names matches a list that has one of the words.
func names(bad ...string) func(string) bool {
	return func(value string) bool {
		return slices.ContainsFunc(words([]string{value}), func(word string) bool { return slices.Contains(bad, word) })
	}
}

// withoutNodeRBAC matches authorization modes without those that the cluster needs.
func withoutNodeRBAC(value string) bool {
	modes := words([]string{value})
	return !slices.Contains(modes, "AlwaysAllow") && (!slices.Contains(modes, "Node") || !slices.Contains(modes, "RBAC"))
}

// withoutPolicies matches an API server without the groups that it has by default, or without
// those of admission policies.
func withoutPolicies(value string) bool {
	return slices.ContainsFunc(words([]string{value}), func(word string) bool {
		group, on, given := strings.Cut(word, "=")
		enabled, err := strconv.ParseBool(on)
		return given && err == nil && !enabled && (group == "api/all" || group == "api/ga" || group == "v1" || group == "admissionregistration.k8s.io/v1")
	})
}

// offHost matches addresses that other hosts reach without a certificate.
func offHost(value string) bool {
	return slices.ContainsFunc(words([]string{value}), func(address string) bool {
		u, err := url.Parse(address)
		return err != nil || u.Scheme != "https" && u.Hostname() != "127.0.0.1" && u.Hostname() != "::1" && u.Hostname() != "localhost"
	})
}

const (
	whyOldTLS  = "TLS 1.0 and 1.1 are broken"
	whyOurFile = "airgap writes the file, and the API server takes one: "
)

// bans are what no site may give a program of the control plane.
func bans(c Config) []ban {
	all := []ban{
		{node.APIServer, "anonymous-auth", is(true), "everybody would be let in at every path, and the API server takes it only without airgap's rules, which answer probes and joining hosts: leave it out"},
		{node.APIServer, "anonymous-auth", is(false), "the kubelet's probe of the API server has no credentials: it would restart it indefinitely. airgap's rules answer only probes and joining hosts: leave it out"},
		{node.APIServer, "authentication-config", always, whyOurFile + "use kubernetes.authentication"},
		{node.APIServer, "authorization-mode", names("AlwaysAllow"), "AlwaysAllow lets everybody do everything"},
		{node.APIServer, "authorization-mode", withoutNodeRBAC, "nodes and Kubernetes' own parts have their rights from Node and RBAC: name both"},
		{node.APIServer, "token-auth-file", always, "tokens in a file never expire: use kubernetes.authentication, or accounts of the cluster"},
		{node.APIServer, "service-account-lookup", is(false), "the tokens of deleted accounts would still be good"},
		{node.APIServer, "disable-admission-plugins", names(nodeRestriction, "ServiceAccount", "NamespaceLifecycle", "PodSecurity", "ValidatingAdmissionPolicy"), "the cluster's protection depends on these: " + nodeRestriction + ", ServiceAccount, NamespaceLifecycle, PodSecurity, ValidatingAdmissionPolicy"},
		{node.APIServer, pluginsArg, names("AlwaysDeny"), "AlwaysDeny refuses every request"},
		{node.APIServer, pluginsArg, names("AlwaysAdmit"), "AlwaysAdmit checks nothing: Kubernetes keeps it for tests"},
		{node.APIServer, "allow-privileged", is(false), "the pod network and kube-proxy are privileged pods"},
		{node.APIServer, "enable-bootstrap-token-auth", is(false), "no host could join"},
		{node.APIServer, "runtime-config", withoutPolicies, "airgap's admission policies, which bind tokens of pods to their pod, and Kubernetes' own parts need these groups"},
		{node.APIServer, "audit-policy-file", always, whyOurFile + "use kubernetes.audit.policy"},
		{node.ControllerManager, "use-service-account-credentials", is(false), "every controller would have the rights of all"},
		{node.Etcd, "client-cert-auth", is(false), "who reaches etcd could read and write everything"},
		{node.Etcd, "peer-client-cert-auth", is(false), "any host could become a member of etcd"},
		{node.Etcd, "auto-tls", is(true), "a certificate that no CA signed proves nothing"},
		{node.Etcd, "peer-auto-tls", is(true), "a certificate that no CA signed proves nothing"},
		{node.Etcd, "listen-metrics-urls", offHost, "etcd serves them without asking who it is: listen on 127.0.0.1"},
		{node.Etcd, "listen-client-urls", offHost, "etcd has to be asked through TLS"},
		{node.Etcd, "listen-client-http-urls", offHost, "etcd has to be asked through TLS"},
		{node.Etcd, "listen-peer-urls", offHost, "etcd has to be asked through TLS"},
		{node.Etcd, "unsafe-no-fsync", is(true), "a power cut would destroy the cluster's data"},
		{node.Etcd, "force-new-cluster", is(true), "each start would throw the other members out"},
		{node.Etcd, "config-file", always, "etcd ignores every other argument next to it"},
	}
	if c.EncryptionAtRest != encryption.NoEncryption {
		all = append(all, ban{node.APIServer, "encryption-provider-config", always, whyOurFile + "a site with a file for its KMS sets kubernetes.encryptionAtRest: none"})
	}
	if c.Overrides.Kubelet["serverTLSBootstrap"] != true {
		all = append(all, ban{node.APIServer, "kubelet-certificate-authority", always, "kubelets sign their serving certificates themselves: logs and exec would fail"})
	}
	for _, part := range programs() {
		all = append(all, ban{part, "tls-min-version", names("VersionTLS10", "VersionTLS11", "TLS1.0", "TLS1.1"), whyOldTLS})
	}
	for _, part := range []node.Part{node.ControllerManager, node.Scheduler} {
		all = append(all, ban{part, "authorization-always-allow-paths", names("*", "/*", "/", "/api/*", "/apis/*"), "everybody would be let in there"})
	}
	return all
}

// programs are those whose arguments a site may give.
func programs() []node.Part {
	return []node.Part{node.APIServer, node.ControllerManager, node.Scheduler, node.Etcd}
}

// oidcFields are the fields that take the place of the API server's arguments.
func oidcFields() map[string]string {
	return map[string]string{
		"oidc-issuer-url": "issuer.url", "oidc-client-id": "issuer.audiences", "oidc-ca-file": "issuer.certificateAuthority, the certificate itself",
		"oidc-username-claim": "claimMappings.username.claim", "oidc-username-prefix": "claimMappings.username.prefix",
		"oidc-groups-claim": "claimMappings.groups.claim", "oidc-groups-prefix": "claimMappings.groups.prefix",
		"oidc-required-claim": "claimValidationRules", "oidc-signing-algs": "",
	}
}

// refuse forbids overrides that open the cluster, or from which it breaks.
func (c Config) refuse(at *field.Path) field.ErrorList {
	cluster := at.Child("clusterConfiguration")
	errs := c.refuseKubelet(at.Child("kubelet"))
	all := bans(c)
	for _, part := range programs() {
		args := cluster.Child(sectionOf(part))
		if part == node.Etcd {
			args = args.Child("local")
		}
		for i, a := range c.extraArgs(part) {
			errs = append(errs, refuseArgument(args.Child("extraArgs").Index(i), part, a, all)...)
		}
	}
	variables, _ := component(c.Overrides.ClusterConfiguration, node.Etcd)["extraEnvs"].([]any)
	for i, item := range variables { // etcd takes arguments from there, too
		if flag, is := node.EtcdFlag(overlay.NameOf(item)); is {
			errs = append(errs, refuseArgument(cluster.Child("etcd", "local", "extraEnvs").Index(i), node.Etcd, argument{flag, overlay.TextOf(item, "value")}, all)...)
		}
	}
	over := c.Overrides.ClusterConfiguration
	if dir, given := over["certificatesDir"]; given && dir != filepath.Dir(kube.ClusterCA) {
		errs = append(errs, field.Forbidden(cluster.Child("certificatesDir"), "airgap keeps the cluster's keys in "+filepath.Dir(kube.ClusterCA)))
	}
	if etcd, _ := over["etcd"].(map[string]any); etcd["external"] != nil {
		errs = append(errs, field.Forbidden(cluster.Child("etcd", "external"), "airgap installs, checks and backs up etcd on the control-plane hosts"))
	}
	return append(errs, c.refuseNames(cluster.Child("apiServer"))...)
}

func refuseArgument(at *field.Path, part node.Part, a argument, banned []ban) field.ErrorList {
	switch {
	case a.name == "":
		return field.ErrorList{field.Required(at.Child("name"), "without it the list would displace airgap's own arguments")}
	case strings.HasPrefix(a.name, "-"):
		return field.ErrorList{field.Invalid(at.Child("name"), a.name, "kubeadm writes the dashes: "+strings.TrimLeft(a.name, "-"))}
	case a.name != strings.ReplaceAll(a.name, "_", "-"):
		return field.ErrorList{field.Invalid(at.Child("name"), a.name, "write it as "+strings.ReplaceAll(a.name, "_", "-"))}
	}
	if to, is := oidcFields()[a.name]; is && part == node.APIServer {
		why := "the API server does not take it next to airgap's rules, without which everybody is let in at every path: use kubernetes.authentication.jwt"
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

// kubeletBans are what no site may give a field of the kubelet's.
func kubeletBans() []ban {
	return []ban{
		{node.Kubelet, "authentication.anonymous.enabled", is(true), "who reaches the kubelet could run commands in its pods"},
		{node.Kubelet, "authorization.mode", func(v string) bool { return v != "Webhook" }, "the API server has to decide who may run commands in the node's pods: Webhook"},
		{node.Kubelet, "authentication.x509.clientCAFile", func(v string) bool { return v != kube.ClusterCA }, "who has a certificate of that CA could run commands in the node's pods: " + kube.ClusterCA},
		{node.Kubelet, "staticPodURL", always, "the kubelet would run as root whatever that address says"},
		{node.Kubelet, "staticPodPath", func(v string) bool { return strings.TrimRight(v, "/") != node.ManifestsDir }, "the control plane's pods are in " + node.ManifestsDir},
		{node.Kubelet, "enableServer", is(false), "logs and exec would fail, and airgap compliance could not ask what the kubelet runs with"},
		{node.Kubelet, "readOnlyPort", func(v string) bool { return v != "0" }, "the port tells everybody about the pods"},
		{node.Kubelet, "tlsMinVersion", names("VersionTLS10", "VersionTLS11"), whyOldTLS},
	}
}

// banned reports whether no site may give a Control this value.
func banned(c Config, control Control, value string) bool {
	return slices.ContainsFunc(append(bans(c), kubeletBans()...), func(b ban) bool {
		return b.part == control.Part && b.name == control.Name && b.bad(value)
	})
}

// refuseKubelet is about fields of the kubelet's, which hold no secret.
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

// refuseNames keeps a site's volumes and variables of the API server off those of
// airgap's.
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
			errs = append(errs, field.Required(at.Index(i).Child("name"), "without it the list would displace airgap's own"))
		}
		for _, key := range []string{"name", "mountPath"} {
			taken := overlay.TextOf(item, key)
			if taken != "" && slices.ContainsFunc(ours, func(own any) bool { return overlay.TextOf(own, key) == taken }) {
				errs = append(errs, field.Invalid(at.Index(i).Child(key), taken, "airgap uses it: take another"))
			}
		}
	}
	return errs
}
