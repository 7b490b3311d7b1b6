package chart_test

import (
	"fmt"
	"maps"
	"strings"
	"testing"
	"time"

	"airgap.dev/airgap/bundle/chart"
	"airgap.dev/airgap/bundle/chart/charttest"
)

// manage is a helper like those in library charts: it gets the paths of values as text,
// looks them up, and otherwise generates a password.
const manage = `{{ define "shared.valueOf" -}}
{{- $at := .context.Values -}}
{{- range (splitList "." .key) -}}
{{- if and $at (kindIs "map" $at) -}}{{- $at = index $at . -}}{{- end -}}
{{- end -}}
{{- if $at }}{{ $at }}{{ end -}}
{{- end }}
{{ define "shared.manage" -}}
{{- $found := "" -}}
{{- range .providedValues -}}
{{- $value := include "shared.valueOf" (dict "key" . "context" $.context) -}}
{{- if and $value (not $found) -}}{{- $found = $value -}}{{- end -}}
{{- end -}}
{{- $kept := lookup "v1" "Secret" $.context.Release.Namespace .secret -}}
{{- if $kept -}}{{ index $kept.data .key }}
{{- else if $found -}}{{ $found | b64enc | quote }}
{{- else -}}{{ randAlphaNum (.length | default 10 | int) | b64enc | quote }}
{{- end -}}
{{- end }}
{{ define "shared.secretName" -}}
{{- if .existing -}}{{ tpl .existing .context }}{{- else -}}{{ .context.Release.Name }}-{{ .context.Chart.Name }}{{- end -}}
{{- end }}
`

// managed returns a chart with a Secret. Each key has the paths of its values.
func managed(values string, keys ...string) map[string]string {
	secret := "{{ if not .Values.auth.existingSecret }}\napiVersion: v1\nkind: Secret\n" +
		"metadata: {name: {{ include \"shared.secretName\" (dict \"existing\" .Values.auth.existingSecret \"context\" $) }}}\ndata:\n  user: eA==\n"
	for _, key := range keys {
		name, paths, _ := strings.Cut(key, "=")
		list := strings.ReplaceAll(paths, ",", `" "`)
		secret += "  " + name + `: {{ include "shared.manage" (dict "secret" "s" "key" "` + name + `" "providedValues" (list "` + list + `") "context" $) }}` + "\n"
	}
	return map[string]string{
		"Chart.yaml": "apiVersion: v2\nname: till\nversion: 1.2.3\ndependencies:\n  - {name: shared, version: 1.0.0}\n", "values.yaml": values,
		"charts/shared/Chart.yaml": "apiVersion: v2\nname: shared\nversion: 1.0.0\ntype: library\n", "charts/shared/templates/_secrets.tpl": manage,
		"templates/secret.yaml": secret + "{{ end }}\n",
		"templates/app.yaml": "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: app}\n" +
			"spec: {template: {metadata: {annotations: {checksum/secret: '{{ include (print $.Template.BasePath \"/secret.yaml\") . | sha256sum }}'}}}}\n",
	}
}

// within returns a chart with the given chart as a dependency.
func within(files map[string]string, dependency string) map[string]string {
	all := map[string]string{"Chart.yaml": "apiVersion: v2\nname: shop\nversion: 1.2.3\ndependencies:\n  - {name: till, version: 1.2.3" + dependency + "}\n"}
	for name, text := range files {
		all["charts/till/"+name] = text
	}
	return all
}

func with(files map[string]string, more map[string]string) map[string]string {
	all := maps.Clone(files)
	maps.Copy(all, more)
	return all
}

func one(template, values string) map[string]string {
	return named(map[string]string{"templates/secret.yaml": template, "values.yaml": values})
}

func secretOf(lines string) string {
	return "apiVersion: v1\nkind: Secret\nmetadata: {name: s}\nstringData:\n  user: me\n" + lines
}

const auth = "auth: {rootUser: admin, rootPassword: '', existingSecret: ''}\nimage: {pullSecrets: [], tag: '1'}\nextra: ''\n"

// TestMadeUp: the error for a chart that generates secrets has the smallest set of
// values that prevents this.
func TestMadeUp(t *testing.T) {
	const certs = "{{ $ca := genCA \"ca\" 365 }}{{ $cert := genSignedCert \"x\" nil nil 365 $ca }}"
	for name, tc := range map[string]struct {
		files  map[string]string
		values string
		advice string // the end of the error
	}{
		"a helper of a library": {managed(auth, "root-password=auth.rootPassword"), "",
			"set auth.rootPassword in the add-on's values, or set auth.existingSecret to the name of a Secret that exists in the cluster"},
		"two paths for one": {managed("global: {till: {password: ''}}\n"+auth, "root-password=global.till.password,auth.rootPassword"), "",
			"set auth.rootPassword in the add-on's values, or set auth.existingSecret to the name of a Secret that exists in the cluster"},
		"several": {managed("auth: {rootPassword: '', password: '', replicationPassword: '', existingSecret: ''}\n", "a=auth.rootPassword", "b=auth.password", "c=auth.replicationPassword"), "",
			"set auth.password, auth.replicationPassword and auth.rootPassword in the add-on's values, or set auth.existingSecret to the name of a Secret that exists in the cluster"},
		"one is set": {managed("auth: {rootPassword: '', password: '', existingSecret: ''}\n", "a=auth.rootPassword", "b=auth.password"), "auth: {password: x}\n",
			"set auth.rootPassword in the add-on's values, or set auth.existingSecret to the name of a Secret that exists in the cluster"},
		"not in values.yaml": {managed("auth: {}\n", "a=auth.rootPassword"), "",
			"set auth.rootPassword in the add-on's values, or set auth.existingSecret to the name of a Secret that exists in the cluster"},
		"in a subchart": {within(managed(auth, "a=auth.rootPassword"), ""), "",
			"set till.auth.rootPassword in the add-on's values, or set till.auth.existingSecret to the name of a Secret that exists in the cluster"},
		"under an alias": {within(managed(auth, "a=auth.rootPassword"), ", alias: store"), "",
			"set store.auth.rootPassword in the add-on's values, or set store.auth.existingSecret to the name of a Secret that exists in the cluster"},
		"in two charts": {with(
			within(managed(auth, "a=auth.rootPassword"), ", alias: store"),
			map[string]string{"values.yaml": "own: {token: ''}\n", "templates/s.yaml": secretOf("  t: {{ .Values.own.token | default (randAlphaNum 32) }}\n")},
		), "", "set own.token and store.auth.rootPassword in the add-on's values"},
		"in a subchart of a subchart": {with(within(map[string]string{}, ""), map[string]string{
			"charts/till/Chart.yaml": "apiVersion: v2\nname: till\nversion: 1.2.3\n", "charts/till/charts/deep/Chart.yaml": "apiVersion: v2\nname: deep\nversion: 1.2.3\n",
			"charts/till/charts/deep/templates/s.yaml": secretOf("  k: {{ .Values.csrf.key | default (randBytes 256) }}\n"), "charts/till/charts/deep/values.yaml": "csrf: {key: ~}\n",
		}), "", "set till.deep.csrf.key in the add-on's values"},
		"a global value": {within(
			map[string]string{"Chart.yaml": "apiVersion: v2\nname: till\nversion: 1.2.3\n", "templates/s.yaml": secretOf("  k: {{ (.Values.global).seed | default uuidv4 }}\n")},
			"",
		), "", "set global.seed in the add-on's values"},
		"with dig, through helpers": {named(map[string]string{
			"values.yaml": "hub: {config: {}, cookieSecret: ~}\nproxy: {secretToken: ''}\n",
			"templates/_h.tpl": `{{ define "token" }}{{ if (.Values.hub.config | dig "Proxy" "auth_token" "") }}{{ .Values.hub.config.Proxy.auth_token }}` +
				`{{ else if .Values.proxy.secretToken }}{{ .Values.proxy.secretToken }}{{ else }}` +
				`{{ $kept := lookup "v1" "Secret" .Release.Namespace "hub" | default (dict "data" (dict)) }}{{ if hasKey $kept.data "t" }}{{ $kept.data.t }}{{ else }}` +
				`{{ randAlphaNum 64 }}{{ end }}{{ end }}{{ end }}{{ define "keys" }}{{ if (.Values.hub.config | dig "Keeper" "keys" list) }}` +
				`{{ .Values.hub.config.Keeper.keys | join ";" }}{{ else }}{{ randAlphaNum 64 }}{{ end }}{{ end }}`,
			"templates/secret.yaml": secretOf("  t: {{ include \"token\" . }}\n  c: {{ .Values.hub.cookieSecret | default (randAlphaNum 64) }}\n"),
		}), "", "set hub.config.Proxy.auth_token and hub.cookieSecret in the add-on's values"},
		"a block of with": {one("{{ with .Values.store }}"+secretOf("  p: {{ .login.password | default (randAlphaNum 9) }}\n")+"{{ end }}", "store: {login: {name: x}}\n"), "",
			"set store.login.password in the add-on's values"},
		"a variable": {
			one(
				"{{ $l := .Values.login }}{{ $in := index .Values \"other\" \"deep\" }}"+secretOf("  p: {{ $l.password | default (randAlphaNum 9) }}\n  q: {{ $in.pin | default (randNumeric 4) | quote }}\n"),
				"login: {}\nother: {deep: {}}\n",
			),
			"",
			"set login.password and other.deep.pin in the add-on's values",
		},
		"a list": {one(secretOf("  p: {{ first (default (list (randAlphaNum 9)) .Values.passwords) }}\n"), "passwords: []\n"), "", "set passwords in the add-on's values"},
		"a certificate": {
			one("{{ if .Values.tls.existingSecret }}{{ else }}"+certs+secretOf("  ca: {{ $ca.Cert | b64enc }}\n  key: {{ $cert.Key | b64enc }}\n")+"{{ end }}", "tls: {existingSecret: ''}\n"), "",
			"set tls.existingSecret to the name of a Secret that exists in the cluster",
		},
		"with its key": {
			one(
				"{{ if and .Values.tls.crt .Values.tls.key }}"+secretOf("  k: {{ .Values.tls.key }}\n")+"{{ else }}"+certs+secretOf("  k: {{ $cert.Key | b64enc }}\n")+"{{ end }}",
				"tls: {crt: '', key: '', name: ''}\n",
			),
			"",
			"set tls.crt and tls.key in the add-on's values",
		},
		"a switch": {one("{{ if .Values.tls.generate }}"+certs+secretOf("  k: {{ $cert.Key | b64enc }}\n")+"{{ end }}", "tls: {generate: true}\n"), "",
			"set tls.generate: false in the add-on's values"},
		"a hash with salt": {one(secretOf("  h: {{ .Values.htpasswd | default (htpasswd \"me\" (.Values.password | default \"x\")) }}\n"), "password: ''\nhtpasswd: ''\n"), "",
			"set htpasswd in the add-on's values"},
		"a derived password": {one(secretOf("  h: {{ derivePassword 1 \"long\" (.Values.master | default (randAscii 9)) \"me\" \"x\" }}\n"), "master: ''\n"), "", "set master in the add-on's values"},
		"any of several": {
			one(secretOf("{{ range $name, $s := .Values.services }}  {{ $name }}: {{ $s.token | default (randAlphaNum 9) }}\n{{ end }}"), "services: {a: {}, b: {token: x}, c: {}}\n"), "",
			"set services.a.token and services.c.token in the add-on's values",
		},
		"with a key as argument": {named(map[string]string{
			"templates/_t.tpl":      `{{ define "tokenOf" }}{{ $top := index . 0 }}{{ $name := index . 1 }}{{ $top.Values.services | dig $name "api_token" (randAlphaNum 9) }}{{ end }}`,
			"templates/secret.yaml": secretOf("  t: {{ include \"tokenOf\" (list $ \"idle-culler\") }}\n"), "values.yaml": "services: {}\n",
		}), "", "set services.idle-culler.api_token in the add-on's values"},
		"one of each": {one(
			secretOf("  a: {{ .Values.token | default (randAlpha 9) }}\n")+"{{ if not .Values.tls.existingSecret }}\n---\n"+certs+secretOf("  k: {{ $cert.Key | b64enc }}\n")+"{{ end }}",
			"token: ''\ntls: {existingSecret: ''}\n",
		), "",
			"set tls.existingSecret (the name of a Secret that exists in the cluster) and token in the add-on's values"},
		"no value prevents it": {one("apiVersion: v1\nkind: Pod\nmetadata: {name: p, annotations: {rolled: '{{ randAlphaNum 5 }}'}}\n", "name: ''\npassword: ''\n"), "",
			"no value of the chart prevents this: change a copy of the chart, and set chart.path to the copy"},
		"a value for one of two": {
			one(secretOf("  a: {{ .Values.password | default (randAlpha 9) }}\n")+"---\napiVersion: v1\nkind: Pod\nmetadata: {name: p, annotations: {rolled: '{{ randAlphaNum 5 }}'}}\n", "password: ''\n"), "",
			"set password in the add-on's values; airgap found no value for the remaining differences: Pod shop/p (till/templates/secret.yaml), metadata.annotations.rolled",
		},
		"with a schema": {
			with(
				one(secretOf("  a: {{ .Values.token | default (randAlpha 9) }}\n"), "token: ''\n"),
				map[string]string{"values.schema.json": `{"properties": {"token": {"type": "string", "pattern": "^([0-9a-f]{32,64})?$"}}}`},
			),
			"",
			"set token in the add-on's values",
		},
	} {
		t.Run(name, func(t *testing.T) {
			top := "till"
			if strings.Contains(tc.files["Chart.yaml"], "name: shop") {
				top = "shop"
			}
			c, err := chart.Open(charttest.Archive(t, top, tc.files))
			must(t, err)
			r := forTest()
			r.Values, _, err = chart.Values("v.yaml", []byte(tc.values))
			must(t, err)
			_, err = c.Render(r)
			if err == nil || !strings.HasSuffix(err.Error(), "a password, a key or a time: "+tc.advice) {
				t.Errorf("got  %v\nwant %s", err, tc.advice)
			}
		})
	}
}

// TestMadeUpIsBounded: the search ends, even if a chart reads many values.
func TestMadeUpIsBounded(t *testing.T) {
	var template, values strings.Builder
	template.WriteString(secretOf("  p: {{ randAlphaNum 9 }}\n"))
	for i := range 250 {
		fmt.Fprintf(&template, "# {{ .Values.password%d }}\n", i)
		fmt.Fprintf(&values, "password%d: ''\n", i)
	}
	c, err := chart.Open(charttest.Archive(t, "till", one(template.String(), values.String())))
	must(t, err)
	began := time.Now()
	_, err = c.Render(forTest())
	wantError(t, err, `the search for values reached its limit; look in the chart's values for the value that sets it$`)
	if took := time.Since(began); took > time.Minute {
		t.Errorf("it took %v", took)
	}
}
