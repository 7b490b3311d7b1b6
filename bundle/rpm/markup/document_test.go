package markup

import (
	"slices"
	"testing"
)

func TestElements(t *testing.T) {
	tests := []struct {
		in   string
		want []string
		bad  bool
	}{
		{in: "", bad: true},
		{in: "<metadata/>", want: nil},
		{in: "<metadata></metadata>", want: nil},
		{in: `<metadata><package a="1">x</package>, <package b='2'>y</package></metadata>`, want: []string{`<package a="1">x</package>`, "<package b='2'>y</package>"}},
		{in: "<filelists><packages><package x></package></packages></filelists>", want: nil},
		{in: "<filelists><package>x<packager></packager></package\n></filelists>", want: []string{"<package>x<packager></packager></package\n>"}},
		{in: "<filelists><package/><package a='/>'/></filelists>", want: []string{"<package/>", "<package a='/>'/>"}},
		{in: "<filelists><package><!--</package>--></package></filelists>", want: []string{"<package><!--</package>--></package>"}},
		{in: "<filelists><package><![CDATA[</package>]]]]></package></filelists>", want: []string{"<package><![CDATA[</package>]]]]></package>"}},
		{in: "<filelists><!----><!-- <package> ---><?x <package> ?></filelists>", want: nil},
		{in: "<metadata><package a>", bad: true},
		{in: "<metadata><package><!-- </package></metadata>", bad: true},
		{in: "<metadata><package></package", bad: true},
		{in: "<metadata><package></package></metadata", bad: true},
		{in: "<package>", bad: true},
	}
	for _, tt := range tests {
		for _, step := range []int{1, 2, 7, 1000} {
			got, err := elementsOf(tt.in, step)
			if (err != nil) != tt.bad || !tt.bad && !slices.Equal(got, tt.want) {
				t.Errorf("%q in steps of %d gave %q, %v", tt.in, step, got, err)
			}
		}
	}
}

// elementsOf returns the elements of a text. Its buffer grows by step bytes, so that every position is an end of it.
func elementsOf(in string, step int) (all []string, err error) {
	d := &Document{Other: map[string]int{}}
	for start, end := 0, 0; ; {
		advance, token, err := d.split([]byte(in[start:end]), end == len(in))
		switch {
		case err != nil:
			return all, err
		case token != nil:
			all = append(all, string(token))
		case advance == 0 && end == len(in):
			return all, d.ended()
		case advance == 0:
			end = min(end+step, len(in))
		}
		start += advance
	}
}
