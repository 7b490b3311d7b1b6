package nevra

// Text is a NEVRA that JSON and YAML have as text, in the form of String: in locks and surveys.
type Text struct{ NEVRA }

// MarshalText writes name-epoch:version-release.arch.
func (t Text) MarshalText() ([]byte, error) { return []byte(t.String()), nil }

// UnmarshalText reads the output of MarshalText.
func (t *Text) UnmarshalText(text []byte) error {
	n, err := Parse(string(text))
	t.NEVRA = n
	return err
}

// UnmarshalYAML takes text alone: the decoder would skip UnmarshalText for a list or a map.
func (t *Text) UnmarshalYAML(decode func(any) error) error {
	var text string
	if err := decode(&text); err != nil {
		return err
	}
	return t.UnmarshalText([]byte(text))
}

// MustParse is a NEVRA that is written in a program; it panics where it is none.
func MustParse(text string) Text {
	n, err := Parse(text)
	if err != nil {
		panic(err)
	}
	return Text{n}
}
