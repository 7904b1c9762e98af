import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Random;
import java.util.Set;
import org.apache.kafka.clients.producer.internals.BuiltInPartitioner;
import org.apache.kafka.common.utils.Utils;

/** Prints murmur2 and partitions of a fixed list of keys, as Kafka's own Java client computes them. See README.md beside this file. */
public final class Murmur2Vectors {
  private static final int[] PARTITION_COUNTS = {1, 3, 64, 1024};

  public static void main(String[] args) {
    List<String> lines = new ArrayList<>();
    for (String key : keys()) {
      byte[] bytes = key.getBytes(StandardCharsets.UTF_8);
      StringBuilder partitions = new StringBuilder();
      for (int count : PARTITION_COUNTS) {
        if (partitions.length() > 0) partitions.append(',');
        partitions.append(BuiltInPartitioner.partitionForKey(bytes, count));
      }
      lines.add("[" + quote(key) + "," + Utils.murmur2(bytes) + ",[" + partitions + "]]");
    }
    System.out.println("{\"partitionCounts\":[1,3,64,1024],\"vectors\":[");
    System.out.println(String.join(",\n", lines));
    System.out.println("]}");
  }

  private static Set<String> keys() {
    Set<String> keys = new LinkedHashSet<>();
    keys.add("");
    for (int length = 1; length <= 40; length++) keys.add("abcdefghijklmnopqrstuvwxyz0123456789ABCD".substring(0, length));
    String[] words = {"é", "ß", "ÿ", "\u007f", "\u0080", "\u07ff", "\u0800", "\uffff", "账户", "幂等", "口座", "счёт", "λογαριασμός",
      "حساب", "🙂", "👩‍👩‍👧‍👦", "🏦/💶", "a\u0301", "\u0000", "\u0000\u0000\u0000\u0000", " ", "\t", "\n", "\"", "\\", "/", "//"};
    for (String word : words) {
      keys.add(word);
      keys.add("x" + word);
      keys.add("xy" + word);
      keys.add("xyz" + word);
      keys.add(word.repeat(33));
    }
    for (int i = 0; i < 200; i++) keys.add("tenant-" + (i % 7) + "/account-" + i);
    keys.add("k".repeat(1000));
    keys.add("长".repeat(1001));
    keys.add("z".repeat(4099));
    Random random = new Random(20240601);
    for (int i = 0; i < 200; i++) {
      StringBuilder key = new StringBuilder();
      int length = 1 + random.nextInt(48);
      for (int at = 0; at < length; at++) key.appendCodePoint(codePoint(random));
      keys.add(key.toString());
    }
    return keys;
  }

  private static int codePoint(Random random) {
    int kind = random.nextInt(4);
    if (kind == 0) return 0x20 + random.nextInt(0x5f);
    if (kind == 1) return 0xa0 + random.nextInt(0x700);
    if (kind == 2) return 0x4e00 + random.nextInt(0x5000);
    return 0x1f300 + random.nextInt(0x300);
  }

  private static String quote(String text) {
    StringBuilder out = new StringBuilder("\"");
    for (char c : text.toCharArray()) {
      if (c >= 0x20 && c < 0x7f && c != '"' && c != '\\') out.append(c);
      else out.append(String.format("\\u%04x", (int) c));
    }
    return out.append('"').toString();
  }
}
