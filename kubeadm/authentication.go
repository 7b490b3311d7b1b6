package kubeadm

import (
	"crypto/x509"
	_ "embed"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/yaml"

	"airgap.dev/airgap/internal/overlay"
	"airgap.dev/airgap/kubeadm/node"
)

const authenticationFile = node.APIServerDir + "/authentication.yaml"

// anonymousRule allows requests without credentials from probes and from joining hosts. A
// joining host checks the answer with its join token.
//
//go:embed authentication.yaml
var anonymousRule []byte

// Authentication is kubernetes.authentication of airgap.yaml.
type Authentication struct {
	JWT []map[string]any `yaml:"jwt,omitempty" json:"jwt,omitempty" jsonschema_description:"OIDC token issuers that the API server trusts, each a JWTAuthenticator of AuthenticationConfiguration (apiserver.config.k8s.io/v1): issuer, claimMappings, claimValidationRules, userValidationRules. Replaces the arguments oidc-*."`
}

// file is the AuthenticationConfiguration of the API server, which reloads it after a change.
func (a Authentication) file() ([]byte, error) {
	if len(a.JWT) == 0 {
		return anonymousRule, nil
	}
	text, err := yaml.Marshal(object{"jwt": a.JWT})
	if err != nil {
		return nil, fmt.Errorf("write the token issuers: %w", err)
	}
	return append(append([]byte{}, anonymousRule...), text...), nil
}

// validate finds errors with which the API server does not start. kubeadm would only report a
// timeout. validate does not compile CEL expressions.
func (a Authentication) validate(at *field.Path) field.ErrorList {
	var errs field.ErrorList
	seen := map[string]bool{}
	for i, jwt := range a.JWT {
		at := at.Child("jwt").Index(i)
		issuer, _ := jwt["issuer"].(map[string]any)
		errs = append(errs, validateIssuer(at.Child("issuer"), issuer)...)
		if address, _ := issuer["url"].(string); seen[address] {
			errs = append(errs, field.Duplicate(at.Child("issuer", "url"), address))
		} else {
			seen[address] = true
		}
		mappings, guarded := at.Child("claimMappings"), refusesSystemNames(jwt)
		errs = append(errs, validateUsername(mappings.Child("username"), lookup(jwt, []string{"claimMappings", "username"}), guarded)...)
		errs = append(errs, validateGroups(mappings.Child("groups"), lookup(jwt, []string{"claimMappings", "groups"}), guarded)...)
	}
	return errs
}

func validateIssuer(at *field.Path, issuer map[string]any) field.ErrorList {
	var errs field.ErrorList
	address, _ := issuer["url"].(string)
	if u, err := url.Parse(address); err != nil || u.Scheme != "https" || u.Host == "" {
		errs = append(errs, field.Invalid(at.Child("url"), address, "expected an address such as https://sso.bank.example/realm"))
	}
	if audiences, _ := issuer["audiences"].([]any); len(audiences) == 0 {
		errs = append(errs, field.Required(at.Child("audiences"), "set the client IDs of the issuer's tokens"))
	} else if len(audiences) > 1 && issuer["audienceMatchPolicy"] != "MatchAny" {
		errs = append(errs, field.Required(at.Child("audienceMatchPolicy"), "several audiences require MatchAny"))
	}
	if ca, there := issuer["certificateAuthority"].(string); there && !x509.NewCertPool().AppendCertsFromPEM([]byte(ca)) {
		errs = append(errs, field.Invalid(at.Child("certificateAuthority"), "text", "expected the CA's certificate as PEM, not its path"))
	}
	return errs
}

// refusesSystemNames reports whether an issuer has a rule about names that begin with system:.
func refusesSystemNames(jwt map[string]any) bool {
	rules, _ := jwt["userValidationRules"].([]any)
	return slices.ContainsFunc(rules, func(rule any) bool { return strings.Contains(overlay.TextOf(rule, "expression"), "system:") })
}

// validatePrefix requires a prefix that keeps the issuer's names apart from those of
// Kubernetes: the group system:masters may do everything.
func validatePrefix(at *field.Path, prefix string, guarded bool) field.ErrorList {
	if strings.HasPrefix(prefix, "system:") || !guarded && strings.HasPrefix("system:", prefix) {
		return field.ErrorList{field.Invalid(at.Child("prefix"), prefix, `names that begin with system: belong to Kubernetes, and the issuer could give any user the rights of a node or administrator: use a prefix such as "sso:", or refuse such names in userValidationRules`)}
	}
	return nil
}

// validateGroups checks the mapping of groups, which is optional.
func validateGroups(at *field.Path, found any, guarded bool) field.ErrorList {
	groups, _ := found.(map[string]any)
	claim, _ := groups["claim"].(string)
	prefix, hasPrefix := groups["prefix"].(string)
	switch {
	case claim == "":
		return nil
	case !hasPrefix:
		return field.ErrorList{field.Required(at.Child("prefix"), `set the prefix of each group, such as "sso:"`)}
	}
	return validatePrefix(at, prefix, guarded)
}

func validateUsername(at *field.Path, found any, guarded bool) field.ErrorList {
	username, _ := found.(map[string]any)
	claim, _ := username["claim"].(string)
	expression, _ := username["expression"].(string)
	prefix, hasPrefix := username["prefix"].(string)
	switch {
	case claim == "" && expression == "":
		return field.ErrorList{field.Required(at, "set the claim or the CEL expression with the user's name")}
	case claim != "" && expression != "":
		return field.ErrorList{field.Invalid(at, claim, "claim and expression exclude each other")}
	case claim != "" && !hasPrefix:
		return field.ErrorList{field.Required(at.Child("prefix"), `set the prefix of each name, such as "sso:"`)}
	case claim == "":
		return nil
	}
	return validatePrefix(at, prefix, guarded)
}
