package yamltree

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
)

// MarshalJSON writes the value, with keys in the order of the file. Numbers keep their
// text.
func (n *Node) MarshalJSON() ([]byte, error) {
	var b bytes.Buffer
	err := n.writeJSON(&b)
	return b.Bytes(), err
}

func (n *Node) writeJSON(b *bytes.Buffer) error {
	text := func(v any) error {
		out, err := json.Marshal(v)
		b.Write(out)
		return err
	}
	separate := func(i int) {
		if i > 0 {
			b.WriteByte(',')
		}
	}
	switch {
	case n.IsMapping():
		b.WriteByte('{')
		for i, key := range n.keys {
			separate(i)
			if err := text(key); err != nil {
				return err
			}
			b.WriteByte(':')
			if err := n.fields[key].writeJSON(b); err != nil {
				return err
			}
		}
		b.WriteByte('}')
	case n.IsList():
		b.WriteByte('[')
		for i, item := range n.Items {
			separate(i)
			if err := item.writeJSON(b); err != nil {
				return err
			}
		}
		b.WriteByte(']')
	default:
		return text(n.Value)
	}
	return nil
}

// FromJSON reads a value as a tree without a file, with keys in their order. The text holds one
// value.
func FromJSON(text []byte) (*Node, error) {
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	n, err := nextJSON(decoder)
	if err != nil {
		return nil, err
	}
	if _, err := decoder.Token(); err != io.EOF {
		return nil, fmt.Errorf("there is more than one value")
	}
	return n, nil
}

// nextJSON reads the next value. The decoder bounds its depth.
func nextJSON(decoder *json.Decoder) (*Node, error) {
	token, err := decoder.Token()
	if err != nil {
		return nil, err
	}
	switch token {
	case json.Delim('{'):
		n := Mapping()
		for decoder.More() {
			key, err := decoder.Token()
			if err != nil {
				return nil, err
			}
			value, err := nextJSON(decoder)
			if err != nil {
				return nil, err
			}
			n = n.With(key.(string), value)
		}
		_, err := decoder.Token()
		return n, err
	case json.Delim('['):
		var items []*Node
		for decoder.More() {
			item, err := nextJSON(decoder)
			if err != nil {
				return nil, err
			}
			items = append(items, item)
		}
		_, err := decoder.Token()
		return List(items), err
	}
	return &Node{Value: token}, nil
}
