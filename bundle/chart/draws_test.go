package chart_test

import (
	"strings"
	"testing"

	"airgap.dev/airgap/bundle/chart"
	"airgap.dev/airgap/bundle/chart/charttest"
)

// drawing returns a chart with one value from this expression.
func drawing(text string) map[string]string {
	return map[string]string{
		"Chart.yaml": "apiVersion: v2\nname: till\nversion: 1.2.3\n", "values.yaml": "some: {a: one, b: two, c: three, d: four, e: five}\n",
		"templates/c.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c}\ndata: {drawn: {{ " + text + " | toString | quote }}}\n",
	}
}

// TestRandomValues: two renderings never draw the same values by chance.
func TestRandomValues(t *testing.T) {
	for text, refused := range map[string]bool{
		`randInt 0 2`:                    true,
		`randInt 4 5`:                    false, // the range has one number
		`mod (randInt 0 3) 2`:            true,
		`eq (randInt 0 9) 5`:             true,
		`lt (randInt 0 1000) 500`:        true,
		`lt (randInt 0 1000) 2000`:       false,
		`randNumeric 1`:                  true,
		`randAlpha 1 | lower`:            true,
		`randAlphaNum 1`:                 true,
		`randAscii 1 | b64enc`:           true,
		`randBytes 1`:                    true,
		`lt (randNumeric 1 | atoi) 20`:   false,
		`randAlphaNum 40 | len`:          false,
		`shuffle "ab"`:                   true,
		`shuffle "aaa"`:                  false,
		`ago 1700000000`:                 true,
		`keys .Values.some | join ","`:   false,
		`values .Values.some | join ","`: false,
		`keys .Values.some | first`:      false,
		`now | date "2006"`:              true,
		`uuidv4 | trunc 1`:               true,
	} {
		c, err := chart.Open(charttest.Archive(t, "till", drawing(text)))
		must(t, err)
		for range 4 {
			_, err = c.Render(forTest())
			if is := err != nil && strings.Contains(err.Error(), "differs between two renderings"); is != refused || err != nil && !is {
				t.Errorf("%s: refused is %v, want %v: %v", text, is, refused, err)
			}
		}
	}
	for text, want := range map[string]string{`randInt 2 2`: "the range is empty", `randAlpha 2000000000`: "the limit is"} {
		c, err := chart.Open(charttest.Archive(t, "till", drawing(text)))
		must(t, err)
		_, err = c.Render(forTest())
		wantError(t, err, want)
	}
}

// TestKeysAreSorted: the keys of a mapping are in one of the orders that Helm can return.
func TestKeysAreSorted(t *testing.T) {
	c, err := chart.Open(charttest.Archive(t, "till", drawing(`printf "%s %s" (keys .Values.some | join ",") (values .Values.some | join ",")`)))
	must(t, err)
	r, err := c.Render(forTest())
	must(t, err)
	if data, _ := r.Objects[0].Object["data"].(map[string]any); data["drawn"] != "a,b,c,d,e one,two,three,four,five" {
		t.Errorf("data is %v", data)
	}
}
