//! Texts that are rare in sessions: other scripts, emoji and encoded data.

/// Names of kinds, each with a few lines of text.
pub(crate) const COMPOSED: [(&str, &str); 16] = [
    (
        "Chinese",
        "用户打开设置页面后，程序会先读取本地缓存，再向服务器请求最新的数据。如果网络不可用，就显示上次保存的结果，并在右上角提示。请检查日志里的错误代码，然后重新运行测试。我们昨天讨论过这个问题，结论是先修改接口，再更新文档。",
    ),
    (
        "Traditional Chinese",
        "伺服器收到請求之後，會先檢查權限，再把資料寫入資料庫。假如寫入失敗，系統會自動重試三次，並且通知管理員。這個版本修正了登入畫面的顯示問題，也改善了搜尋的速度。",
    ),
    (
        "Japanese",
        "設定ファイルを読み込んだあと、サーバーに接続して最新のデータを取得します。接続に失敗した場合は、前回の結果を表示してください。テストを実行する前に、キャッシュを削除する必要があります。エラーメッセージはログに残ります。",
    ),
    (
        "Korean",
        "사용자가 설정 화면을 열면 프로그램은 먼저 로컬 캐시를 읽고 서버에 최신 데이터를 요청합니다. 네트워크를 사용할 수 없으면 마지막으로 저장된 결과를 보여 줍니다. 테스트를 다시 실행하기 전에 로그를 확인해 주세요.",
    ),
    (
        "Russian",
        "После запуска программа читает настройки и подключается к серверу. Если соединение не удалось, она показывает последние сохранённые данные и пишет ошибку в журнал. Перед повторным запуском тестов нужно очистить кэш и проверить права доступа.",
    ),
    (
        "Greek",
        "Μετά την εκκίνηση το πρόγραμμα διαβάζει τις ρυθμίσεις και συνδέεται με τον διακομιστή. Αν η σύνδεση αποτύχει, εμφανίζει τα τελευταία αποθηκευμένα δεδομένα και γράφει το σφάλμα στο αρχείο καταγραφής.",
    ),
    (
        "Hebrew",
        "לאחר ההפעלה התוכנה קוראת את ההגדרות ומתחברת לשרת. אם החיבור נכשל, היא מציגה את הנתונים האחרונים שנשמרו וכותבת את השגיאה ליומן. לפני הרצה חוזרת של הבדיקות יש לנקות את המטמון.",
    ),
    (
        "Arabic",
        "بعد بدء التشغيل يقرأ البرنامج الإعدادات ويتصل بالخادم. إذا فشل الاتصال فإنه يعرض آخر البيانات المحفوظة ويكتب الخطأ في السجل. قبل إعادة تشغيل الاختبارات يجب مسح الذاكرة المؤقتة.",
    ),
    (
        "Hindi",
        "प्रोग्राम शुरू होने के बाद सेटिंग पढ़ता है और सर्वर से जुड़ता है। अगर कनेक्शन विफल हो जाए तो वह पिछला सहेजा हुआ डेटा दिखाता है और त्रुटि को लॉग में लिखता है।",
    ),
    (
        "Thai",
        "เมื่อเริ่มทำงาน โปรแกรมจะอ่านการตั้งค่าและเชื่อมต่อกับเซิร์ฟเวอร์ หากเชื่อมต่อไม่สำเร็จ จะแสดงข้อมูลล่าสุดที่บันทึกไว้และเขียนข้อผิดพลาดลงในบันทึก",
    ),
    (
        "German",
        "Nach dem Start liest das Programm die Einstellungen und verbindet sich mit dem Server. Schlägt die Verbindung fehl, so zeigt es die zuletzt gespeicherten Daten und schreibt den Fehler ins Protokoll. Vor der nächsten Prüfung ist der Zwischenspeicher zu löschen.",
    ),
    (
        "French",
        "Après le démarrage, le programme lit les réglages et se connecte au serveur. Si la connexion échoue, il affiche les dernières données enregistrées et écrit l’erreur dans le journal. Videz le cache avant de relancer les tests.",
    ),
    (
        "emoji",
        "✅ done 🎉🎉 🚀 shipped! 👍🏽 👩‍💻 fixed 🐛🐛🐛 in 🔧 build 🧪 tests: 🟢🟢🟢🔴🟡 ⚠️ careful 🔥 hot path 📦 package 📝 notes 🔒 locked 🌍 world 🤖 agent 💥 crash 🧹 cleanup 🕐 later",
    ),
    (
        "boxes and arrows",
        "┌────────┬────────┐\n│ name   │ value  │\n├────────┼────────┤\n│ a → b  │ ≥ 3    │\n└────────┴────────┘\n└── src\n    ├── main.rs\n    └── lib.rs\n• first … second — third “quoted” ‘single’ × ÷ ± ≠ ≤ ∞ ▇▇▇▇░░░░",
    ),
    (
        "base64",
        "Z2ndHUH0FVfbfNFnDnFJQm73x7p8Dw+WPxYD7aCj2N1mHIBlxNtPHjImQBYY0G+9Lqc10BfX6iYUtDF6KUSNst+x8McQFk0EOfMRXREJ2xiV21MglVYyIhAK2AuN+6TKDjM4aeF5nHdKxc2hKSFPFgxJy3ylImaPpd7wb/96AzM1C21sMklEE1RUHBvG+DvVaa9Vdh4Hm4XVY+D8poOMlfIZhs8dG51fl3ZwgNYOo2vvlzAGMgAeJETCKrU898r9YdWAhTP7I7zvcYhIN5pws0X+GO835PeYcuPi9mlTKI0nd2MQNop96zxatNPh2GSNbjNDy5j5IuYQmkq7/ri1CK3UDQW5UbK7e0cetdIoSQd38PxRSTXAyYMbntSW/MtoHOeMUn1MTb0Mtf01Uri1qsf4jZPYodT/kp6Mx4/x+baTHrfMh114bPRn",
    ),
    (
        "hashes and numbers",
        "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08 e3b0c44298fc1c149afbf4c8996fb924 0x7ffee4b3 550e8400-e29b-41d4-a716-446655440000 127.0.0.1:8080 2026-11-22T22:40:26.123Z 3.14159265 1,234,567 42 -17 0.001 1e-9 100% 00000000: 7f45 4c46 0201 0100",
    ),
];
